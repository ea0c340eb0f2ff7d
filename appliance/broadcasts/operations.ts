/**
 * Broadcasts for commands: everything that doesn't need the daemon. A running daemon notices the changes at its next
 * poll.
 */
import { checkSchedule, parseSchedule } from '../intake/intake.ts'
import type { BroadcastRef } from '../storage/storage.ts'
import { type AbTestMethods, abTestMethods } from './ab-results.ts'
import { type ControlMethods, createControlMethods } from './control.ts'
import { type DraftMethods, createDraftMethods, refuseFailedChange } from './drafts.ts'
import { type ReachMethods, createReachMethods } from './segment-providers.ts'
import { type ResultMethods, createResultMethods } from './results.ts'
import { type ReviewMethods, createReviewMethods } from './review.ts'
import { resolveSendingDomain, type SendingDeps } from './sending.ts'

export type { DraftInput } from './drafts.ts'

export interface BroadcastOperations
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
export function createBroadcastOperations(deps: SendingDeps): BroadcastOperations {
  const { storage, clock } = deps
  const drafts = createDraftMethods(deps)
  return {
    ...drafts,
    ...createControlMethods(deps, () => undefined),
    ...createResultMethods(deps),
    ...createReviewMethods(deps),
    ...abTestMethods(deps, () => undefined),
    ...createReachMethods(deps),
    async scheduleBroadcast({ teamId, id, at }) {
      const broadcast = await drafts.getBroadcast({ teamId, id })
      const now = clock.now()
      const when = parseSchedule(at, now)
      checkSchedule(when, now)
      await resolveSendingDomain(deps, broadcast, { teamId, apiKey: null })
      const due = when ?? now
      refuseFailedChange(await storage.scheduleBroadcast({ teamId, id, at: due }, now), 'broadcast_started')
      return due
    },
  }
}
