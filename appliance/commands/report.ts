/** The commands about DMARC and TLS reports that other servers send about a domain. */
import { Option } from 'commander'
import { presentDmarcSummary, presentTlsSummary } from '../api/report-summaries.ts'
import { presentExplainedReport, presentReport } from '../api/reports.ts'
import { presentList } from '../api/shared.ts'
import { createReportView } from '../insights/insights.ts'
import type { DmarcSource } from '../mail/dmarc-summary.ts'
import type { TlsSummary } from '../mail/tls-summary.ts'
import type { Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { Failure } from './failure.ts'
import { formatInstant, wrapParagraph, sanitizeForTerminal, truncate, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'
import { parseCount } from './values.ts'

const DEFAULT_LIMIT = 100
const MOST = 100
const MOST_DAYS = 90

/** Registers `report`. */
export function registerReportCommands({ group, addInTeam, doesWith }: Registrar): void {
  const reports = group('report', 'Show DMARC and TLS reports about a domain')
  const kind = () => new Option('--kind <kind>', 'dmarc or tls').choices(['dmarc', 'tls'])
  addInTeam('list', 'List reports, newest first', reports)
    .argument('<domain>', 'Name of the domain')
    .addOption(kind())
    .option('--limit <count>', 'Maximum number of rows, at most 100 (default: 100)', parseCount)
    .action(doesWith(listReports))
  addInTeam('show', 'Show who sends as a domain and whether it passes DMARC', reports)
    .argument('<domain>', 'Name of the domain')
    .option('--tls', 'Show how other servers reach the domain over TLS instead')
    .option('--report <id>', 'Show one report instead')
    .option('--days <count>', 'Days up to now, at most 90 (default: 30)', parseCount)
    .action(doesWith(showReports))
}

/** Runs `report list`. */
async function listReports(
  context: Context,
  [name = '']: string[],
  { kind, limit = DEFAULT_LIMIT }: { kind?: 'dmarc' | 'tls'; limit?: number },
): Promise<void> {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}.`)
  const { storage, clock, output } = context
  const { teamId, id: domainId } = await findDomainByName(context, name)
  const { items, hasMore } = await storage.listDomainReports({ teamId, domainId, kind, limit }, clock.now())
  output.object(presentList(items.map(presentReport), hasMore))
  if (items.length === 0) return output.text('No reports. To see what to publish, run: posthaste report show')
  const rows = items.map((one) => [
    one.id,
    formatInstant(one.receivedAt),
    one.kind,
    truncate(sanitizeForTerminal(one.organization === '' ? one.submitter : one.organization), 30),
    one.submitter,
    String(one.total),
    String(one.failed),
  ])
  output.text(...formatTable(['ID', 'RECEIVED', 'KIND', 'REPORTER', 'SENT BY', 'TOTAL', 'FAILED'], rows))
}

/** Runs `report show`. */
async function showReports(
  context: Context,
  [name = '']: string[],
  { tls = false, days, report }: { tls?: boolean; days?: number; report?: string },
): Promise<void> {
  if (days !== undefined && days > MOST_DAYS) throw new Failure(`--days is at most ${MOST_DAYS}.`)
  const domain = await findDomainByName(context, name)
  const view = createReportView({ ...context, hostname: context.config.hostname })
  if (report !== undefined) return showReport(context, await view.report(domain, report))
  if (tls) return showTls(context, await view.tls(domain, days))
  const { head, names } = await view.dmarc(domain, days)
  const { output } = context
  output.object(presentDmarcSummary(head, names))
  if (head.messages > 0) output.text(`${head.passed} of ${head.messages} messages passed DMARC.`, '')
  output.text(...sourceLines(head.sources, names))
  output.text(...wrapParagraph(head.nextStep), ...recordLines(head.record))
}

/** Runs `report show --report`. */
function showReport(
  { output }: Context,
  explained: Awaited<ReturnType<ReturnType<typeof createReportView>['report']>>,
): void {
  const { report, sources, failures, names } = explained
  const whole = presentExplainedReport(explained)
  output.object(whole)
  const what = report.kind === 'dmarc' ? 'messages failed DMARC' : 'sessions failed'
  output.text(
    ...facts([
      ['Reporter', report.organization],
      ['Sent by', report.submitter],
      ['Period', `${formatInstant(report.begin)} to ${formatInstant(report.end)}`],
      ['Domain', report.policyDomain],
      ['Policy', whole.policy_tags ?? ''],
      ['Result', `${report.failed} of ${report.total} ${what}`],
    ]),
    '',
    ...sourceLines(sources, names),
    ...failureLines(failures),
    ...[...sources, ...failures].flatMap(({ nextStep }) =>
      nextStep === null ? [] : wrapParagraph(nextStep),
    ),
  )
}

const facts = (pairs: readonly (readonly [name: string, text: string])[]): string[] =>
  pairs.flatMap(([name, text]) => (text === '' ? [] : [`${name.padEnd(10)}${sanitizeForTerminal(text)}`]))

const sourceLines = (sources: readonly DmarcSource[], names: ReadonlyMap<string, string>): string[] => {
  const rows = sources.map((source) => [
    source.ip,
    truncate(sanitizeForTerminal(names.get(source.ip) ?? ''), 40),
    String(source.messages),
    String(source.passed),
    source.verdict,
  ])
  return rows.length === 0
    ? []
    : [...formatTable(['SOURCE', 'NAME', 'MESSAGES', 'PASSED', 'MEANING'], rows), '']
}

const failureLines = (failures: TlsSummary['failures']): string[] => {
  const rows = failures.map(({ type, sessions, mxHosts, meaning }) =>
    [type, String(sessions), mxHosts.join(', '), meaning].map(sanitizeForTerminal),
  )
  return rows.length === 0 ? [] : [...formatTable(['FAILURE', 'SESSIONS', 'MX', 'MEANING'], rows), '']
}

function showTls(
  { output }: Context,
  view: Awaited<ReturnType<ReturnType<typeof createReportView>['tls']>>,
): void {
  output.object(presentTlsSummary(view))
  const { sessions, failed, failures } = view.summary
  if (sessions > 0) output.text(`${sessions - failed} of ${sessions} sessions used TLS.`, '')
  output.text(...failureLines(failures), ...wrapParagraph(view.nextStep), ...recordLines(view.record))
}

const recordLines = (record: { name: string; value: string; published: boolean }): string[] =>
  record.published ? [] : ['', `TXT  ${record.name}`, `  ${record.value}`]
