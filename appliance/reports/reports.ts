/**
 * Reports to senders (RFC 3461, RFC 3464): what became of emails that came by SMTP, sent to the return address of the app.
 *
 * `settle`, `put` and `dropQueue` write what is due in the transaction that decides a delivery; here it is turned into emails of
 * the same spool, each stored in the one transaction that also ends its being due (docs/decisions/0008-delivery-reports.md).
 */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import type { DueReport, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { dutyOf, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { deliveriesToTell, reportEmail } from './report.ts'

/** Makes the reports that are due, those of an earlier run too. `stop` finishes the report in hand. */
export type Reporter = Worker

export interface ReporterDeps {
  storage: Pick<Storage, 'dueReports' | 'putReport' | 'dropReports' | 'getMessage' | 'findSuppressed'>
  clock: Clock
  log: Logger
  /** Name of this server in reports: Reporting-MTA. */
  hostname: string
  /** By default this process is alone. */
  duties?: Duties | undefined
  /** Tells dispatch that something is due. */
  onStored: () => void
  /** How often to look for what other processes left due (`posthaste queue drop`), in milliseconds. Default 1000. */
  pollMs?: number | undefined
}

/** Reports read at a time: each may bring a message of a megabyte. */
const STEP = 10
/** Pause after the storage refused to answer (milliseconds). */
const TROUBLE_MS = 10_000

/** Builds the reporter; it begins with `start()`. */
export function createReporter(deps: ReporterDeps): Reporter {
  const { storage, clock, log, pollMs = 1000 } = deps
  const onDuty = dutyOf(deps.duties, 'reports')
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

/** Turns one due report into an email, or finds that there is nobody to tell. Afterwards it is no longer due. */
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
  const original = await storage.getMessage({ emailId }, clock.now())
  const now = clock.now()
  const report = reportEmail({ id: newId(now), deliveryId: newId(now), due, original, hostname, now })
  if (!(await storage.putReport({ ...about, report }, now))) return
  log.info(
    { email_id: emailId, kind, report_id: report.id, team_id: teamId },
    'sending a report to the sender',
  )
  onStored()
}

async function whySilent(due: DueReport, { storage, clock }: ReporterDeps): Promise<string | undefined> {
  const { domain, teamId, reportTo } = due
  if (deliveriesToTell(due).length === 0) return 'the delivery is no longer delayed'
  if (domain === null) return 'the sending domain was removed, so the report could not be signed'
  const [suppressed] = await storage.findSuppressed({ teamId, addresses: [reportTo] }, clock.now())
  return suppressed ? 'the return address is on the suppression list' : undefined
}
