/**
 * Keeps count of the queued emails of each broadcast per mailbox provider. Counting tens of thousands of rows takes tens
 * of milliseconds, so what was queued since is added to the last count instead.
 */
import { type Clock, steady } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'

/** Queued emails by provider id; the empty id: the provider isn't known yet. */
export type Load = Readonly<Record<string, number>>

/** How many times its own duration a count is used, so that counting takes at most 2% of a processor. */
const REST = 50

/** Returns how long to wait after a read that took some time. Both in milliseconds. */
export const restAfter = (took: number): number => took * REST

export interface Loads {
  /** Returns the load of a broadcast. It may be too large by what was delivered meanwhile, never too small. */
  of(id: string): Promise<Load>
  /** Adds what was queued just now. */
  add(id: string, providers: readonly string[]): void
}

export function createLoads({
  storage,
  clock,
}: {
  storage: Pick<Storage, 'broadcastLoad'>
  clock: Clock
}): Loads {
  const kept = new Map<string, { load: Record<string, number>; until: number }>()
  return {
    async of(id) {
      const before = steady(clock)
      const known = kept.get(id)
      if (known && before < known.until) return known.load
      const load = await storage.broadcastLoad({ id }, clock.now())
      const after = steady(clock)
      for (const [other, { until }] of kept) if (until <= after) kept.delete(other)
      kept.set(id, { load, until: after + restAfter(after - before) })
      return load
    },
    add(id, providers) {
      const load = kept.get(id)?.load
      if (load) for (const provider of providers) load[provider] = (load[provider] ?? 0) + 1
    },
  }
}
