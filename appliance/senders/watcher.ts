/**
 * Checks the records of domains in the background: pending and verified ones (daily), broken ones, and keys that wait
 * for their record or retirement. Storage determines what is due; the timers here only wake the worker.
 */
import type { Clock } from '../clock/clock.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { postponeCheck } from './verification-schedule.ts'
import { checkDomainRecords, type DomainCheckResult, type DomainCheckDeps } from './check-domain.ts'
import { renewKeysIfDue } from './new-keys.ts'
import type { KeyGenerator } from './keys.ts'

export interface WatcherDeps extends DomainCheckDeps {
  storage: Storage
  clock: Clock
  log: Logger
  /** Decides which node runs the checks. Default: this process is the only one. */
  duties?: Duties | undefined
  /** How often to look for checks scheduled by other processes, in milliseconds. */
  pollMs: number
  keygen?: KeyGenerator | undefined
}

/** Time after which to look for a new key, in milliseconds: the DNS server publishes it by then. */
const PROOF_AFTER = 30_000

/** Number of domains checked in parallel; each needs a handful of DNS queries. */
const TOGETHER = 10

/** `stop` lets running checks finish. */
export function createWatcher(deps: WatcherDeps): Worker {
  const { storage, clock, log, pollMs } = deps
  const onDuty = createDutyCheck(deps.duties, 'domain checks')
  let elsewhere = false
  const step = async (): Promise<boolean> => {
    const due = await storage.dueDomains({ limit: TOGETHER }, clock.now())
    elsewhere = due.length > 0 && !(await onDuty())
    if (elsewhere) return false
    await Promise.all(due.map((domain) => watchOne(domain, deps)))
    return due.length === TOGETHER
  }
  // Checks that another node is responsible for remain due until that node has run them.
  const next = async (): Promise<number | undefined> =>
    elsewhere ? undefined : storage.nextDomainCheck({}, clock.now())
  // Rejects only if storage fails. Mail intake reports its own storage failures.
  const trouble = 'could not check domains; will retry'
  return createWorker({ step, next, clock, log, pollMs, trouble })
}

/** Checks one domain. A failure must neither prevent checks of the others, nor cause an immediate retry. */
async function watchOne(domain: Domain, deps: WatcherDeps): Promise<void> {
  const { storage, clock, log } = deps
  try {
    tell(domain, await checkDomainRecords(domain, false, deps), log)
    if (await renewKeysIfDue(deps, domain)) {
      log.info({ domain_id: domain.id, domain: domain.name }, 'created new DKIM keys')
      const { teamId, id } = domain
      const now = clock.now()
      await storage.hastenDomainCheck({ teamId, id, at: now + PROOF_AFTER }, now)
    }
  } catch (error) {
    log.error({ err: error, domain_id: domain.id, domain: domain.name }, 'could not check a domain')
    const now = clock.now()
    const { teamId, id, status: seen } = domain
    await storage.scheduleDomainCheck({ teamId, id, seen, ...postponeCheck(domain, now) }, now)
  }
}

/** Logs what an on-call engineer should know. */
function tell(before: Domain, after: DomainCheckResult, log: Logger): void {
  if (!after.saved) return
  const about = { domain_id: before.id, team_id: before.teamId, domain: before.name }
  const wrong = after.checks.filter(({ status, note }) => status !== 'verified' && note !== null)
  const notes = wrong.map(({ note }) => note)
  if (after.status !== before.status) {
    const line = { ...about, status: after.status, before: before.status }
    if (after.status === 'verified') log.info(line, 'domain is verified')
    else if (after.status === 'failed')
      log.warn({ ...line, notes }, 'domain failed verification; no mail is sent from it')
    else
      log.warn(
        { ...line, notes },
        'domain partially failed verification; mail is sent, but bounces may be lost',
      )
  } else if (after.suspect && after.suspect.since !== before.suspect?.since)
    log.warn(
      { ...about, suspect: after.suspect.status, notes },
      'domain failed a check; will check again before changing its status',
    )
  for (const { id, state } of after.keys)
    log.info({ ...about, dkim_key_id: id, state }, 'DKIM key changed state')
}
