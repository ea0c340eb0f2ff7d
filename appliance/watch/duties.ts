/**
 * Duties: what runs once, however many nodes share the storage. A node has a duty for a while and keeps it as long as it does it; when the node is
 * gone, another takes over after that time, and the same node at its next start at once.
 *
 * A duty saves work and keeps two nodes from doing the same thing at the same time. It promises no more than that: a step may outlast the
 * time, so what would do harm twice is still decided in the transaction that stores it.
 */
import type { Clock } from '../clock/clock.ts'

/** What runs once. */
type DutyName =
  | 'retention'
  | 'outbox'
  | 'tag metrics'
  | 'reports'
  | 'TLS reports'
  | 'domain checks'
  | 'erasures'
  | 'broadcasts'
  | 'contact imports'
  | 'postmaster mail'
  | 'returned mail'

/** Whether this process has the duty; it takes one that is free. Asked when there is something to do, so that nothing is written while idle. */
export type OnDuty = () => Promise<boolean>

export interface Duties {
  of(name: DutyName): OnDuty
}

/** The duties of a process; where there are none, it is alone and has them all. */
export const dutyOf = (duties: Duties | undefined, name: DutyName): OnDuty =>
  duties?.of(name) ?? (() => Promise.resolve(true))

/** What duties need of the storage; a shape, so that this folder knows no other. */
export interface DutyStorage {
  takeDuty(args: { name: string; owner: string; forMs: number }, now: number): Promise<number | null>
  releaseDuties(args: { owner: string }, now: number): Promise<void>
}

/** How long a node has a duty without saying so again (milliseconds). */
const DUTY_MS = 120_000

/** Makes the duties of a process; `owner` names it (mail/owner.ts). */
export function createDuties({
  storage,
  clock,
  owner,
}: {
  storage: DutyStorage
  clock: Pick<Clock, 'now'>
  owner: string
}): Duties & {
  /** Gives all back, so that nobody has to wait for their end. */
  release(): Promise<void>
} {
  /** Until when this process has them, as far as it knows. */
  const mine = new Map<DutyName, number>()
  return {
    of: (name) => async () => {
      const now = clock.now()
      const left = (mine.get(name) ?? 0) - now
      // More than was ever taken: the clock was set back.
      if (left > DUTY_MS / 2 && left <= DUTY_MS) return true
      const term = await storage.takeDuty({ name, owner, forMs: DUTY_MS }, now)
      if (term === null) mine.delete(name)
      else mine.set(name, now + DUTY_MS)
      return term !== null
    },
    async release() {
      if (mine.size === 0) return
      mine.clear()
      await storage.releaseDuties({ owner }, clock.now())
    },
  }
}
