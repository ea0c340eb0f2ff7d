import { METRICS, readMetricsQuery, recomputeMetrics, reportMetrics } from '../events/metrics.ts'
import { presentMetrics } from '../wireformat/wireformat.ts'
import { readTyped, type Context } from './context.ts'
import { table } from './output.ts'

/** Options of `metrics show`, named as the parameters of the API. */
export interface MetricsOptions {
  start?: string
  end?: string
  timezone?: string
  granularity?: string
  metrics?: string
  by?: string
}

/** What people want to see first. */
const USUAL = 'sent,delivered,delivery_delayed,bounced,failed,suppressed,complained,bounce_rate'

/** `metrics show`: what became of the team's mail. */
export async function showMetrics(context: Context, options: MetricsOptions): Promise<void> {
  const { storage, clock, output, team } = context
  const { id: teamId } = await team()
  const { start, end, timezone, granularity, by } = options
  const metrics = options.metrics === 'all' ? METRICS.join(',') : (options.metrics ?? USUAL)
  const query = { start_date: start, end_date: end, timezone, granularity, metrics, dimensions: by }
  const request = await readTyped(() => readMetricsQuery(query, clock.now()))
  const report = presentMetrics(await reportMetrics(storage, teamId, request, clock.now()))
  output.object(report)
  const columns = (['period', 'domain_name', 'email_id'] as const).filter((name) =>
    report.data?.some((row) => name in row),
  )
  const line = (row: Record<string, string | number | null>) =>
    [...columns, ...report.metrics].map((name) => String(row[name] ?? ''))
  const total = { ...report.totals, ...(columns[0] && { [columns[0]]: 'total' }) }
  output.text(`From ${report.start_date} to ${report.end_date}`)
  const heads = [...columns, ...report.metrics].map((name) => name.toUpperCase().replaceAll('_', ' '))
  output.text(...table(heads, [...(report.data ?? []), total].map(line)))
}

/** `metrics recompute`: the roll-ups of all teams from the events. */
export async function recompute({ storage, clock, output }: Context): Promise<void> {
  const { changed, left } = await recomputeMetrics(storage, clock.now())
  output.object({ object: 'metrics_recomputed', changed, left })
  output.text(changed === 0 ? 'All numbers were right.' : `${changed} numbers were wrong and are right now.`)
  if (left > 0)
    output.text(
      `${left} quarters of an hour stay as they are: events of theirs were removed with old emails.`,
    )
}
