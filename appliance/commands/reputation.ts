/** The commands about the reputation of domains and sending IPs. */
import { INSIGHT_DAYS, presentDomainInsights } from '../api/insight-counts.ts'
import {
  presentDomainReputation,
  presentSourceReputation,
  type DomainReputation,
  type SourceReputation,
} from '../api/reputation.ts'
import { firstDay, sumInsights } from '../mail/insight-counts.ts'
import { createReputationView, type ReputationView } from '../insights/insights.ts'
import { Failure, type Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { wrapParagraph, formatTable, type Output } from './output.ts'
import { openShaping } from './provider.ts'

const MOST_DAYS = 90

interface Options {
  days?: number
}

/** Runs `domain reputation`. */
export async function showDomainReputation(
  context: Context,
  [name = '']: string[],
  { days }: Options,
): Promise<void> {
  const view = viewOf(context, days)
  const domain = await findDomainByName(context, name)
  const shown = presentDomainReputation(await view.domain(domain, days), await namesOf(context))
  const { output } = context
  output.object(shown)
  printComplaints(output, shown)
  printResults(output, shown, 'LAST 7 DAYS')
  printChanges(output, shown)
}

/** Runs `domain insights`. */
export async function showDomainInsights(
  context: Context,
  [name = '']: string[],
  { days = INSIGHT_DAYS }: Options,
): Promise<void> {
  if (days > MOST_DAYS) throw new Failure(`--days is at most ${MOST_DAYS}.`)
  const { storage, clock, output } = context
  const { teamId, id: domainId } = await findDomainByName(context, name)
  const now = clock.now()
  const rows = await storage.listInsightDays({ teamId, domainId, since: firstDay(now, days) }, now)
  const shown = presentDomainInsights(domainId, sumInsights(rows, now, days))
  output.object(shown)
  const { checked, failed } = shown
  output.text(`${checked.toLocaleString('en')} emails checked in ${days} days.`)
  if (failed.length > 0)
    output.text(
      '',
      ...formatTable(
        ['CHECK', 'EMAILS'],
        failed.map((one) => [one.check, one.note]),
      ),
    )
}

/** Runs `source reputation`. */
export async function showSourceReputation(
  context: Context,
  [ip = '']: string[],
  { days }: Options,
): Promise<void> {
  const view = viewOf(context, days)
  const source = await context.sources.get(ip)
  const shown = presentSourceReputation(await view.source(source, days), await namesOf(context))
  const { output } = context
  output.object(shown)
  if (shown.blocklists.length === 0) output.text('Blocklists were not checked yet.')
  for (const { status, found } of shown.blocklists) output.text(...wrapParagraph(`${status}: ${found}`))
  output.text('')
  printResults(output, shown, 'PROVIDER')
  printChanges(output, shown)
}

function viewOf({ storage, clock, gate }: Context, days: number | undefined): ReputationView {
  if (days !== undefined && days > MOST_DAYS) throw new Failure(`--days is at most ${MOST_DAYS}.`)
  return createReputationView({ storage, clock, rules: () => gate.rules() })
}

/** Returns the names of mailbox providers by id. */
async function namesOf(context: Context): Promise<Map<string, string>> {
  return new Map((await openShaping(context).providers()).map(({ id, name }) => [id, name]))
}

const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`

function printComplaints(output: Output, { complaints, reports }: DomainReputation): void {
  const { delivered, complained, rate, limits } = complaints
  const { dmarc, tls } = reports
  output.text(
    `Last 7 days: ${complained} of ${delivered} delivered emails were reported as spam (${percent(rate)}).`,
    ...limits.map(({ name, limit, state }) => `${name} accepts less than ${percent(limit)}: ${state}`),
    `DMARC reports: ${dmarc.total} messages, of which ${dmarc.failed} failed.`,
    `TLS reports: ${tls.total} sessions, of which ${tls.failed} failed.`,
    '',
  )
}

type Shown = DomainReputation | SourceReputation

/**
 * Prints results by day, then by provider.
 * @param byProvider the first column's name in the table by provider
 */
function printResults(output: Output, { days, totals, providers }: Shown, byProvider: string): void {
  const head = ['DELIVERED', 'BOUNCED', 'DEFERRED', ...('complained' in totals ? ['COMPLAINED'] : [])]
  const numbers = (one: Shown['totals']): string[] =>
    [one.delivered, one.bounced, one.deferred, ...('complained' in one ? [one.complained] : [])].map(String)
  const busy = days.filter((day) => numbers(day).some((number) => number !== '0'))
  if (busy.length === 0) {
    output.text('No mail in this period.')
    return
  }
  const rows = busy.map((day) => [day.date, ...numbers(day)])
  output.text(...formatTable(['DAY', ...head], [...rows, ['total', ...numbers(totals)]]))
  if (providers.length === 0) return
  const named = providers.map((one) => [one.name ?? 'others', ...numbers(one)])
  output.text('', ...formatTable([byProvider, ...head], named))
}

function printChanges(output: Output, { changes }: Shown): void {
  if (changes.length === 0) return
  const rows = changes.map(({ at, note }) => [at, note])
  output.text('', ...formatTable(['WHEN', 'CHANGE'], rows))
}
