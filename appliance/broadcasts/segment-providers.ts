/** Estimates which mailbox providers the contacts of a segment use, before a broadcast is written. */
import { setImmediate } from 'node:timers/promises'
import type { SegmentReach } from '../mail/broadcast.ts'
import { refuse } from '../mail/refusals.ts'
import { choosePool } from '../mail/source.ts'
import type { BroadcastDeps } from './drafts.ts'

export interface ReachMethods {
  /** Examines the newest 60,000 contacts and estimates the rest. Refuses: `not_found`. */
  segmentReach(args: { teamId: string; id: string }): Promise<SegmentReach>
}

/** Maximum number of steps. Each reads 20,000 contacts in some 30 ms. */
const STEPS = 3

/** Creates the method. */
export function createReachMethods({ storage, clock }: BroadcastDeps): ReachMethods {
  return {
    async segmentReach({ teamId, id }) {
      const segment = await storage.getSegment({ teamId, id }, clock.now())
      if (!segment) throw refuse('not_found', { resource: 'Audience' })
      const counts = new Map<string, number>()
      let [looked, after] = [0, undefined as string | undefined]
      for (let step = 0; step < STEPS; step++) {
        const part = await storage.segmentProviders({ teamId, segmentId: id, after }, clock.now())
        looked += part.contacts
        for (const { provider, contacts } of part.providers)
          counts.set(provider, (counts.get(provider) ?? 0) + contacts)
        after = part.next ?? undefined
        if (after === undefined) break
        await setImmediate()
      }
      const whole = after === undefined
      const contacts = whole ? looked : Math.max(looked, segment.contacts)
      const scale = looked === 0 ? 1 : contacts / looked
      const providers = [...counts]
        .map(([provider, n]) => ({ provider, contacts: Math.round(n * scale) }))
        .sort((a, b) => b.contacts - a.contacts)
      const assignments = await storage.listAssignments({}, clock.now())
      const regions = await storage.regionMap({}, clock.now())
      return {
        pool: choosePool(assignments, { teamId, domainId: null, region: null, stream: 'broadcast' }, regions),
        contacts,
        eligible: providers.reduce((sum, one) => sum + one.contacts, 0),
        estimated: !whole,
        providers,
      }
    },
  }
}
