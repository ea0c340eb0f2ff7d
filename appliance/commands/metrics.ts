import {
  METRICS,
  parseBreakdownQuery,
  parseMetricsQuery,
  recomputeMetrics,
  computeBreakdown,
  computeMetricsReport,
} from '../events/metrics.ts'
import { presentBreakdown, presentMetrics } from '../api/metrics.ts'
import { UsageError, parseArgument, type Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { wrapParagraph, formatTable } from './output.ts'
import { openShaping } from './provider.ts'

/** Options of `metrics show`, named like the API parameters. */
export interface MetricsOptions {
  start?: string
  end?: string
  timezone?: string
  granularity?: string
  /** Comma-separated metrics, or `all`. */
  metrics?: string
  by?: string
  /** Name of a region. */
  region?: string
}

/** Options of `metrics breakdown`. */
export interface BreakdownOptions extends MetricsOptions {
  /** Comma-separated ids of mailbox providers. */
  provider?: string
  /** Name of a domain. */
  domain?: string
}

/** The default metrics. */
const USUAL = 'sent,delivered,delivery_delayed,bounced,failed,suppressed,complained,bounce_rate'

/** `metrics show`: prints counts of the team's email events. */
export async function showMetrics(context: Context, options: MetricsOptions): Promise<void> {
  const { storage, clock, output, team } = context
  const { id: teamId } = await team()
  const { start, end, timezone, granularity, by, region } = options
  const metrics = options.metrics === 'all' ? METRICS.join(',') : (options.metrics ?? USUAL)
  const query = { start_date: start, end_date: end, timezone, granularity, metrics, dimensions: by, region }
  const request = await parseArgument(() => parseMetricsQuery(query, clock.now()))
  const report = presentMetrics(await computeMetricsReport(storage, teamId, request, clock.now()))
  output.object(report)
  const columns = (['period', 'domain_name', 'email_id', 'broadcast_name'] as const).filter((name) =>
    report.data?.some((row) => name in row),
  )
  const line = (row: Record<string, string | number | null>) =>
    [...columns, ...report.metrics].map((name) => String(row[name] ?? ''))
  const total = { ...report.totals, ...(columns[0] && { [columns[0]]: 'total' }) }
  output.text(`From ${report.start_date} to ${report.end_date}`)
  const heads = [...columns, ...report.metrics].map((name) => name.toUpperCase().replaceAll('_', ' '))
  output.text(...formatTable(heads, [...(report.data ?? []), total].map(line)))
}

/** `metrics breakdown`: prints the counts by one dimension. */
export async function showBreakdown(context: Context, options: BreakdownOptions): Promise<void> {
  const { storage, clock, output, team } = context
  const { id: teamId } = await team()
  const { start, end, timezone, granularity, by, provider, domain, region } = options
  const domain_id = domain === undefined ? undefined : (await findDomainByName(context, domain)).id
  const query = { start_date: start, end_date: end, timezone, granularity, by, provider, domain_id, region }
  const request = await parseArgument(() => parseBreakdownQuery(query, clock.now()))
  const names = new Map((await openShaping(context).providers()).map(({ id, name }) => [id, name]))
  const report = presentBreakdown(await computeBreakdown(storage, teamId, request, names, clock.now()))
  const shown = chosen(options.metrics, report.metrics)
  output.object(report)
  output.text(`From ${report.start_date} to ${report.end_date}`)
  const line = (name: string, counts: Record<string, number>) => [
    ...shown.map((metric) => String(counts[metric] ?? 0)),
    name,
  ]
  const rows = report.data.map(({ value, name, counts }) => line(name ?? nameless(report.by, value), counts))
  const heads = [...shown, report.by].map((name) => name.toUpperCase().replaceAll('_', ' '))
  output.text(...formatTable(heads, [...rows, line('total', report.totals)]))
  if (report.counted_until !== undefined)
    output.text(
      ...wrapParagraph(
        `Tags are counted up to ${report.counted_until}. Run the command again in a moment for the rest.`,
      ),
    )
}

/** Labels a row that has no name with its value, unless the value is the ID of a domain. */
function nameless(by: string, value: string | null): string {
  if (value === null) return 'others'
  return by === 'domain' ? '(removed)' : value
}

/**
 * Returns the columns: the requested metrics, or the default metrics that exist for this breakdown.
 * @throws UsageError if a requested metric doesn't exist for it
 */
function chosen(asked: string | undefined, counted: readonly string[]): string[] {
  if (asked === 'all') return [...counted]
  const names = (asked ?? USUAL).split(',').map((name) => name.trim())
  const unknown = asked === undefined ? undefined : names.find((name) => !counted.includes(name))
  if (unknown !== undefined)
    throw new UsageError(
      `--metrics ${unknown} is not available here; use all or one of ${counted.join(', ')}`,
    )
  return names.filter((name) => counted.includes(name))
}

/** `metrics recompute`: rebuilds the roll-ups of all teams from the events. */
export async function recomputeAllMetrics({ storage, clock, output }: Context): Promise<void> {
  const { changed, left } = await recomputeMetrics(storage, clock.now())
  output.object({ object: 'metrics_recomputed', changed, left })
  output.text(changed === 0 ? 'All numbers were correct.' : `Corrected ${changed} numbers.`)
  if (left > 0)
    output.text(
      `${left} quarter-hours cannot be recomputed, because their events were deleted with old emails.`,
    )
}
