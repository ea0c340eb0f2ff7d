/** The command about the reputation of domains. */
import { presentDomainReputation, type DomainReputation } from '../api/reputation.ts'
import { createReputationView } from '../insights/insights.ts'
import { Failure, type Context } from './context.ts'
import { named } from './domain.ts'
import { table, type Output } from './output.ts'
import { shapingOf } from './provider.ts'

const MOST_DAYS = 90
const HEAD = ['DELIVERED', 'BOUNCED', 'DEFERRED', 'COMPLAINED']

/** Runs `domain reputation`. */
export async function domainReputation(
  context: Context,
  [name = '']: string[],
  { days }: { days?: number },
): Promise<void> {
  if (days !== undefined && days > MOST_DAYS) throw new Failure(`--days is at most ${MOST_DAYS}.`)
  const { storage, clock, gate, output } = context
  const domain = await named(context, name)
  const view = createReputationView({ storage, clock, rules: () => gate.rules() })
  const names = new Map((await shapingOf(context).providers()).map((one) => [one.id, one.name]))
  const shown = presentDomainReputation(await view.domain(domain, days), names)
  output.object(shown)
  printComplaints(output, shown)
  printResults(output, shown)
  if (shown.changes.length > 0)
    output.text(
      '',
      ...table(
        ['WHEN', 'CHANGE'],
        shown.changes.map(({ at, note }) => [at, note]),
      ),
    )
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

type Counted = DomainReputation['totals']

const numbers = ({ delivered, bounced, deferred, complained }: Counted): string[] =>
  [delivered, bounced, deferred, complained].map(String)

function printResults(output: Output, { days, totals, providers }: DomainReputation): void {
  const busy = days.filter((day) => numbers(day).some((number) => number !== '0'))
  if (busy.length === 0) {
    output.text('No mail in this period.')
    return
  }
  const byDay = busy.map((day) => [day.date, ...numbers(day)])
  output.text(...table(['DAY', ...HEAD], [...byDay, ['total', ...numbers(totals)]]))
  const byProvider = providers.map((one) => [one.name ?? 'others', ...numbers(one)])
  if (byProvider.length > 0) output.text('', ...table(['LAST 7 DAYS', ...HEAD], byProvider))
}
