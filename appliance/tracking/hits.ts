/** Records opens and clicks of tracked emails, and whether each was made by a bot. */
import type { Clock } from '../clock/clock.ts'
import type { EventData } from '../mail/event.ts'
import { newId } from '../mail/ids.ts'
import type { Storage, TrackedEmail } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import { createVisitMemory, type VisitMemory } from './recent-visits.ts'
import type { ClassifyVisit, Visit } from './bots.ts'
import type { HitKind, TrackingToken } from './tokens.ts'

/**
 * Maximum time that a visitor waits for the visit to be recorded, in milliseconds. A commit takes a few milliseconds.
 */
const PATIENCE = 250
/** Maximum number of visits being recorded at the same time. Further visits are served but not recorded. */
const MOST_PENDING = 500
/** Maximum length of a stored User-Agent, in characters. */
const MAX_USER_AGENT = 500

export interface HitRecorderDeps {
  storage: Pick<Storage, 'trackedEmail' | 'recordHit'>
  clock: Clock
  log: Logger
  judge: ClassifyVisit
  /** Whether people's IP addresses are stored. */
  storeIp: boolean
}

export interface HitRecorder {
  /**
   * Records a visit unless it repeats a recent one. Never rejects, and resolves soon, because the visitor shouldn't
   * have to wait for it.
   */
  note(kind: HitKind, tracked: TrackingToken, visit: Visit): Promise<void>
}

/** Creates the recorder of opens and clicks. */
export function createHitRecorder(deps: HitRecorderDeps): HitRecorder {
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
          // A failing disk must not affect visitors. The log tells the operator.
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

/** Uses real time instead of the clock: someone is waiting for a response. */
const patience = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, PATIENCE).unref())

function memorable(
  memory: VisitMemory,
  kind: HitKind,
  { emailId, link }: TrackingToken,
  { method, ip, userAgent }: Visit,
  now: number,
): boolean {
  const visit = [kind, emailId, link, method, ip, userAgent].join('\n')
  return !memory.repeated(visit, now) && !memory.excessive(emailId, now)
}

async function record(
  { storage, clock, judge, storeIp }: HitRecorderDeps,
  memory: VisitMemory,
  kind: HitKind,
  { emailId, link }: TrackingToken,
  visit: Visit,
): Promise<void> {
  const now = clock.now()
  const links = kind === 'click' ? memory.links(`${emailId}\n${visit.ip}`, link, now) : 0
  const email = await storage.trackedEmail({ emailId }, now)
  // The email was deleted by retention, or tracking was turned off. The link still works.
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
