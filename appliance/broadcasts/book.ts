/**
 * Broadcasts for commands: everything that doesn't need the daemon. A running daemon notices the changes at its next
 * poll.
 */
import { checkSchedule, readSchedule } from '../intake/intake.ts'
import type { BroadcastRef } from '../storage/storage.ts'
import { type AbTestMethods, abTestMethods } from './ab-results.ts'
import { type ControlMethods, controlMethods } from './control.ts'
import { type DraftMethods, draftMethods, refuseUnless } from './drafts.ts'
import { type ReachMethods, reachMethods } from './reach.ts'
import { type ResultMethods, resultMethods } from './results.ts'
import { type ReviewMethods, reviewMethods } from './review.ts'
import { sendableFrom, type SendingDeps } from './sending.ts'

export type { DraftInput } from './drafts.ts'

export interface BroadcastBook
  extends DraftMethods, ControlMethods, ResultMethods, ReviewMethods, AbTestMethods, ReachMethods {
  /**
   * Schedules a draft: for now, or for a time in the format of `POST /emails`. Returns that time (Unix milliseconds).
   * The daemon checks the draft again before it sends it.
   *
   * Refuses: `not_found`, `broadcast_started`, `missing_content`, `broadcast_without_unsubscribe`, `provider_rules`, refusals of
   * `senders.authorize`, `schedule_past`, `invalid_field` (scheduled_at).
   */
  scheduleBroadcast(ref: BroadcastRef & { at: string | null }): Promise<number>
}

/** Opens broadcasts without the background work that sends them. */
export function createBroadcastBook(deps: SendingDeps): BroadcastBook {
  const { storage, clock } = deps
  const drafts = draftMethods(deps)
  return {
    ...drafts,
    ...controlMethods(deps, () => undefined),
    ...resultMethods(deps),
    ...reviewMethods(deps),
    ...abTestMethods(deps, () => undefined),
    ...reachMethods(deps),
    async scheduleBroadcast({ teamId, id, at }) {
      const broadcast = await drafts.getBroadcast({ teamId, id })
      const now = clock.now()
      const when = readSchedule(at, now)
      checkSchedule(when, now)
      await sendableFrom(deps, broadcast, { teamId, apiKey: null })
      const due = when ?? now
      refuseUnless(await storage.scheduleBroadcast({ teamId, id, at: due }, now), 'broadcast_started')
      return due
    },
  }
}
