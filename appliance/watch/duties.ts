/**
 * Duties: tasks that run on only one of the nodes that share the storage. A node holds a duty for a limited time, and
 * renews it while it works. If the node is lost, which its heartbeat decides (heartbeat.ts), another takes over at once.
 * The same node can take the duty back immediately at its next start.
 *
 * A duty saves work, and usually prevents two nodes from doing the same thing at the same time. It is no guarantee,
 * because a step may take longer than the duty lasts. If doing something twice would do harm, the transaction that
 * stores it must still prevent that.
 */
import type { Clock } from '../clock/clock.ts'
import { SINGLE_NODE, type NodeStatus } from './heartbeat.ts'

/** A task that runs on one node. */
type DutyName =
  | 'retention'
  | 'outbox'
  | 'tag metrics'
  | 'reports'
  | 'TLS reports'
  | 'domain checks'
  | 'erasures'
  | 'automations'
  | 'broadcasts'
  | 'contact imports'
  | 'postmaster mail'
  | 'returned mail'
  | 'forwarded mail'
  | 'alerts'
  | 'insights'
  | 'forms'
  | 'certificates'
  | 'regions'

/**
 * Whether this process holds the duty; takes the duty if it is free. Called only when there is work, so that nothing is
 * written while idle.
 */
export type HoldsDuty = () => Promise<boolean>

export interface Duties {
  of(name: DutyName): HoldsDuty
}

/** A duty that a process holds only while it works, so that others need not wait until it expires. */
export interface Turn {
  /** Takes the duty, or extends it. Resolves with false if another node has it. */
  take(): Promise<boolean>
  /** Ends it. */
  end(): Promise<void>
}

/** Returns a check for one duty. Without `duties`, this process is the only one and holds all duties. */
export const createDutyCheck = (duties: Duties | undefined, name: DutyName): HoldsDuty =>
  duties?.of(name) ?? (() => Promise.resolve(true))

/** The storage methods that duties need. A structural type, so that this folder imports no other. */
export interface DutyStorage {
  takeDuty(
    args: { name: string; owner: string; forMs: number; lostAfter: number },
    now: number,
  ): Promise<number | null>
  releaseDuties(args: { owner: string }, now: number): Promise<void>
}

/** How long a duty is held without renewal, in milliseconds. */
const DUTY_MS = 120_000

export interface DutiesDeps {
  storage: DutyStorage
  clock: Pick<Clock, 'now'>
  /** Identifies the process (mail/ids.ts). */
  owner: string
  /** Milliseconds without a heartbeat after which a node is lost. */
  lostAfter: number
  /** The heartbeat of this node (heartbeat.ts). Default: of a node that is never fenced. */
  node?: Pick<NodeStatus, 'fenced' | 'fences'>
}

/** Creates the duties of a process. */
export function createDuties({ storage, clock, owner, lostAfter, node = SINGLE_NODE }: DutiesDeps): Duties & {
  turn(name: DutyName): Turn
  /** Releases all duties, so that no one has to wait for them to expire. */
  release(): Promise<void>
} {
  /** Expiry of each duty held by this process, as far as this process knows. */
  const mine = new Map<DutyName, number>()
  let fences = node.fences()
  const take = (name: DutyName, forMs: number, now: number) =>
    storage.takeDuty({ name, owner, forMs, lostAfter }, now)
  /** Whether the node may take a duty. Forgets its duties if it was fenced, because others may have taken them. */
  const mayTake = (): boolean => {
    const free = node.fenced() === null
    if (!free || fences !== node.fences()) mine.clear()
    fences = node.fences()
    return free
  }
  return {
    of: (name) => async () => {
      if (!mayTake()) return false
      const asked = fences
      const now = clock.now()
      const left = (mine.get(name) ?? 0) - now
      // If the clock was set back, the remaining time is longer than `DUTY_MS`.
      if (left > DUTY_MS / 2 && left <= DUTY_MS) return true
      const term = await take(name, DUTY_MS, now)
      // Others may have taken the duty while this node was fenced.
      if (node.fenced() !== null || asked !== node.fences()) return false
      if (term === null) mine.delete(name)
      else mine.set(name, now + DUTY_MS)
      return term !== null
    },
    turn: (name) => ({
      async take() {
        if (!mayTake()) return false
        const asked = fences
        const term = await take(name, DUTY_MS, clock.now())
        return term !== null && node.fenced() === null && asked === node.fences()
      },
      async end() {
        await take(name, 0, clock.now())
      },
    }),
    async release() {
      if (mine.size === 0) return
      mine.clear()
      await storage.releaseDuties({ owner }, clock.now())
    },
  }
}
