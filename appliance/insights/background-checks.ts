/** Checks sent emails in the background, and counts the failed checks by domain and day. */
import { setTimeout as rest } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import type { Insight } from '../mail/insight.ts'
import { Refusal } from '../mail/refusals.ts'
import { formatDay } from '../mail/reputation.ts'
import type { Domain, Email, Storage } from '../storage/storage.ts'
import { createDutyCheck, type Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'

export interface SentEmailCheckerDeps {
  storage: Pick<Storage, 'readUnchecked' | 'addInsightDays' | 'getEmail' | 'getDomain'>
  clock: Clock
  log: Logger
  /** Reads the content of an email. Refuses: `overloaded`. */
  contentOf: (email: Email) => Promise<{ html: string | null; text: string | null }>
  /** Checks an email (advice/advice.ts). */
  advise: (
    message: { from: string; subject: string; html: string | null; text: string | null },
    domain: Domain | undefined,
    size: number,
  ) => Insight[]
  /** Decides which process does the work. Default: this is the only process. */
  duties?: Duties | undefined
}

/** How often to look for sent emails, in milliseconds. */
const POLL_MS = 15_000
/**
 * Maximum number of emails checked per step, and the pause between two steps in milliseconds: at most 50 emails per
 * second, because a check takes a millisecond of the event loop. Of a larger burst, only some emails are checked.
 */
const MOST = 25
const REST_MS = 500

/** Creates the worker, which begins with `start()`. */
export function createSentEmailChecker(deps: SentEmailCheckerDeps): Worker {
  const { storage, clock, log } = deps
  const onDuty = createDutyCheck(deps.duties, 'insights')
  const step = async (going: () => boolean): Promise<boolean> => {
    const { from, to, emails, more } = await storage.readUnchecked({}, clock.now())
    if (from.seq === to.seq && from.xid === to.xid) return false
    if (!(await onDuty())) return false
    const counts = new Map<
      string,
      { teamId: string; domainId: string; day: string; check: string; n: number }
    >()
    for (const { id, teamId, domainId, sentAt } of emails.slice(0, MOST)) {
      if (!going()) return false
      const failed = await failedChecks(deps, { id, teamId, domainId })
      if (failed === undefined) continue
      const day = formatDay(sentAt)
      for (const check of ['', ...failed]) {
        const key = `${teamId} ${domainId} ${day} ${check}`
        const known = counts.get(key)
        if (known) known.n += 1
        else counts.set(key, { teamId, domainId, day, check, n: 1 })
      }
    }
    await storage.addInsightDays({ from, to, counts: [...counts.values()] }, clock.now())
    if (more) await rest(REST_MS)
    return more
  }
  const trouble = 'could not check sent emails; will retry'
  return createWorker({ step, clock, log, pollMs: POLL_MS, trouble })
}

/** Returns the checks that an email fails; undefined if it or its content was deleted, or can't be read now. */
async function failedChecks(
  { storage, clock, contentOf, advise }: SentEmailCheckerDeps,
  { id, teamId, domainId }: { id: string; teamId: string; domainId: string },
): Promise<string[] | undefined> {
  const email = await storage.getEmail({ teamId, id }, clock.now())
  if (!email) return undefined
  const content = await contentOf(email).catch((error: unknown) => {
    if (error instanceof Refusal) return undefined
    throw error
  })
  if (!content || (content.html === null && content.text === null)) return undefined
  const { from, subject, size } = email
  const domain = await storage.getDomain({ teamId, id: domainId }, clock.now())
  return advise({ from, subject, ...content }, domain, size)
    .filter(({ verdict }) => verdict !== 'pass')
    .map(({ id: check }) => check)
}
