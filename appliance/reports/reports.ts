/**
 * Reports to senders (RFC 3461, RFC 3464) about emails submitted by SMTP, sent to the app's return address.
 *
 * `settle`, `put` and `dropQueue` record a due report in the transaction that decides a delivery. This module turns due
 * reports into emails in the same spool. One transaction stores the email and removes the due report
 * (docs/decisions/0008-delivery-reports.md).
 */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { type DueReport, readOrMissing, type Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { selectDeliveriesToReport, buildReportEmail } from './report.ts'

/** Creates due reports, including those of an earlier run. `stop` finishes the current report. */
export type Reporter = Worker

export interface ReporterDeps {
  storage: Pick<Storage, 'dueReports' | 'putReport' | 'dropReports' | 'getMessage' | 'findSuppressed'>
  clock: Clock
  log: Logger
  /** Name of this server in reports: Reporting-MTA. */
  hostname: string
  /** Decides which node creates reports. Default: this process is the only one. */
  duties?: Duties | undefined
  /** Notifies the dispatcher that a delivery is due. */
  onStored: () => void
  /**
   * How often to look for due reports from other processes (`posthaste queue drop`), in milliseconds. Default: 1000.
   */
  pollMs?: number | undefined
}

/** Number of due reports read at a time; each may include a message of 1 MB. */
const STEP = 10
/** Pause after a storage error, in milliseconds. */
const TROUBLE_MS = 10_000

/** Creates the reporter. `start()` starts it. */
export function createReporter(deps: ReporterDeps): Reporter {
  const { storage, clock, log, pollMs = 1000 } = deps
  const onDuty = createDutyCheck(deps.duties, 'reports')
  const step = async (going: () => boolean): Promise<boolean> => {
    const due = await storage.dueReports({ limit: STEP }, clock.now())
    if (due.length === 0 || !(await onDuty())) return false
    for (const one of due) {
      if (!going()) return false
      await make(one, deps)
    }
    return due.length === STEP
  }
  const trouble = 'bounce reports are delayed: the storage is not responding; they stay due'
  return createWorker({ step, clock, log, pollMs, troubleMs: TROUBLE_MS, trouble })
}

/** Creates an email from a due report, unless none is needed. Either way, the report is no longer due. */
async function make(due: DueReport, deps: ReporterDeps): Promise<void> {
  const { storage, clock, log, hostname, onStored } = deps
  const { kind, emailId, teamId } = due
  const about = { kind, emailId, deliveryIds: due.deliveries.map(({ id }) => id) }
  const silent = await whySilent(due, deps)
  if (silent !== undefined) {
    await storage.dropReports(about, clock.now())
    log.info({ email_id: emailId, kind, team_id: teamId }, `no report sent: ${silent}`)
    return
  }
  // If its file or object is lost, the report comes without the message (RFC 6522 §3), so that others aren't delayed.
  const read = await readOrMissing(storage.getMessage({ emailId }, clock.now()), log, { email_id: emailId })
  const original = read === 'missing' ? undefined : read
  const now = clock.now()
  const report = buildReportEmail({ id: newId(now), deliveryId: newId(now), due, original, hostname, now })
  if (!(await storage.putReport({ ...about, report }, now))) return
  log.info(
    { email_id: emailId, kind, report_id: report.id, team_id: teamId },
    'sending a report to the sender',
  )
  onStored()
}

async function whySilent(due: DueReport, { storage, clock }: ReporterDeps): Promise<string | undefined> {
  const { domain, teamId, reportTo } = due
  if (selectDeliveriesToReport(due).length === 0) return 'the delivery is no longer delayed'
  if (domain === null) return 'the sending domain was removed, so the report could not be signed'
  const [suppressed] = await storage.findSuppressed({ teamId, addresses: [reportTo] }, clock.now())
  return suppressed ? 'the return address is on the suppression list' : undefined
}
