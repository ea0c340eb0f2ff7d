/** Records what became of tracked emails: opens and clicks, told apart from machines. */
import type { Clock } from '../clock/clock.ts'
import type { EventData } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import type { Storage, TrackedEmail } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createVisitMemory, type VisitMemory } from './memory.ts'
import type { Judge, Visit } from './robots.ts'
import type { HitKind, Tracked } from './tokens.ts'

/** Who follows a link waits for its record this long at most (milliseconds): a commit takes a few. */
const PATIENCE = 250
/** Visits being recorded at once; what comes beyond is answered and not recorded. */
const MOST_PENDING = 500
/** Longest User-Agent that is kept, in characters. */
const MAX_USER_AGENT = 500

export interface HitDeps {
  storage: Pick<Storage, 'trackedEmail' | 'recordHit'>
  clock: Clock
  log: Logger
  judge: Judge
  /** Whether addresses of people are kept. */
  storeIp: boolean
}

export interface Hits {
  /** Records a visit unless it is folded. Never rejects, and resolves soon: what happens to the record is no matter of the visitor. */
  note(kind: HitKind, tracked: Tracked, visit: Visit): Promise<void>
}

/** Builds the recorder. */
export function createHits(deps: HitDeps): Hits {
  const { clock, log } = deps
  const memory = createVisitMemory()
  let pending = 0
  return {
    async note(kind, tracked, visit) {
      if (!memorable(memory, kind, tracked, visit, clock.now())) return
      if (pending >= MOST_PENDING) {
        log.warn(
          { email_id: tracked.emailId },
          `did not record an open or click: ${pending} are waiting for the storage`,
        )
        return
      }
      pending += 1
      const recorded = record(deps, memory, kind, tracked, visit)
        .catch((err: unknown) => {
          // The visitor is not to suffer for our disk; the log tells whoever can mend it.
          log.warn(
            { err, email_id: tracked.emailId },
            'could not record an open or click: the storage failed',
          )
        })
        .finally(() => (pending -= 1))
      await Promise.race([recorded, patience()])
    },
  }
}

/** Real time, whatever the clock says: somebody waits for an answer. */
const patience = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, PATIENCE).unref())

function memorable(
  memory: VisitMemory,
  kind: HitKind,
  { emailId, link }: Tracked,
  { method, ip, userAgent }: Visit,
  now: number,
): boolean {
  const visit = [kind, emailId, link, method, ip, userAgent].join('\n')
  return !memory.repeated(visit, now) && !memory.excessive(emailId, now)
}

async function record(
  { storage, clock, judge, storeIp }: HitDeps,
  memory: VisitMemory,
  kind: HitKind,
  { emailId, link }: Tracked,
  visit: Visit,
): Promise<void> {
  const now = clock.now()
  const links = kind === 'click' ? memory.links(`${emailId}\n${visit.ip}`, link, now) : 0
  const email = await storage.trackedEmail({ emailId }, now)
  // Gone with its retention, or no longer wanted: the link still leads where it led.
  if (!email || !(kind === 'open' ? email.opens : email.clicks)) return
  const opinion = judge(visit, { now, deliveredAt: email.deliveredAt, links })
  const who = {
    ipAddress: storeIp ? visit.ip : '',
    timestamp: new Date(now).toISOString(),
    userAgent: visit.userAgent.slice(0, MAX_USER_AGENT),
  }
  const data: EventData = {
    ...recipientOf(email),
    ...(opinion.robot ? { robot: true } : {}),
    ...(opinion.seenBy === null ? {} : { seenBy: opinion.seenBy }),
    ...(kind === 'open' ? { open: who } : { click: { ...who, link } }),
  }
  const type = kind === 'open' ? 'email.opened' : 'email.clicked'
  const { teamId, deliveryId } = email
  await storage.recordHit({ id: newId(now), teamId, emailId, deliveryId, type, data }, now)
}

const recipientOf = ({ recipient }: TrackedEmail): EventData => (recipient === null ? {} : { recipient })
