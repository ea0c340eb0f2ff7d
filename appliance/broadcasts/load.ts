/**
 * Counts the queued emails of each broadcast per mailbox provider. Counting tens of thousands of rows takes tens of
 * milliseconds, so newly queued emails are added to the last count instead.
 */
import { type Clock, getSteadyTime } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'

/** Number of queued emails by provider ID; the empty ID stands for providers that aren't known yet. */
export type QueuedCounts = Readonly<Record<string, number>>

/**
 * How long a count is used, as a multiple of the time that counting took, so that counting takes at most 2% of a
 * processor.
 */
const REST = 50

/** Returns how long to wait after a read that took `took` milliseconds, in milliseconds. */
export const computeCooldown = (took: number): number => took * REST

export interface QueuedCountCache {
  /**
   * Returns the number of queued emails of a broadcast by provider. May still include emails that were delivered since
   * the last count, but never misses any.
   */
  of(id: string): Promise<QueuedCounts>
  /** Adds emails that were just queued. */
  add(id: string, providers: readonly string[]): void
}

export function createQueuedCountCache({
  storage,
  clock,
}: {
  storage: Pick<Storage, 'broadcastLoad'>
  clock: Clock
}): QueuedCountCache {
  const kept = new Map<string, { load: Record<string, number>; until: number }>()
  return {
    async of(id) {
      const before = getSteadyTime(clock)
      const known = kept.get(id)
      if (known && before < known.until) return known.load
      const load = await storage.broadcastLoad({ id }, clock.now())
      const after = getSteadyTime(clock)
      for (const [other, { until }] of kept) if (until <= after) kept.delete(other)
      kept.set(id, { load, until: after + computeCooldown(after - before) })
      return load
    },
    add(id, providers) {
      const load = kept.get(id)?.load
      if (load) for (const provider of providers) load[provider] = (load[provider] ?? 0) + 1
    },
  }
}
