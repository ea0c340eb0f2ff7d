/** Pauses, resumes and cancels broadcasts. */
import { refuse } from '../mail/refusals.ts'
import type { BroadcastRef } from '../storage/storage.ts'
import { type BroadcastDeps, broadcastNotFound, refuseFailedChange } from './drafts.ts'

export interface ControlMethods {
  /** Cancels a broadcast. Refuses: `not_found`, `broadcast_not_cancelable`. */
  cancelBroadcast(ref: BroadcastRef): Promise<void>
  /** Pauses a broadcast. Refuses: `not_found`, `broadcast_not_running`. */
  pauseBroadcast(ref: BroadcastRef): Promise<void>
  /**
   * Resumes a broadcast; if its scheduled time has passed, sends it now. Refuses: `not_found`, `broadcast_not_paused`.
   */
  resumeBroadcast(ref: BroadcastRef): Promise<void>
  /**
   * Resumes the part of a broadcast for a provider that was paused automatically. Refuses: `not_found`,
   * `broadcast_provider_not_paused`.
   */
  resumeProvider(ref: BroadcastRef & { provider: string }): Promise<void>
}

/**
 * Creates the methods.
 *
 * @param changed called when there is work to do
 */
export function createControlMethods({ storage, clock }: BroadcastDeps, changed: () => void): ControlMethods {
  return {
    async cancelBroadcast(ref) {
      const answer = await storage.cancelBroadcast(ref, clock.now())
      if (answer === 'unknown') throw broadcastNotFound()
      if (answer === 'wrong_status') throw refuse('broadcast_not_cancelable')
      changed()
    },
    async pauseBroadcast(ref) {
      const pause = { ...ref, reason: 'person' as const, figures: null }
      refuseFailedChange(await storage.pauseBroadcast(pause, clock.now()), 'broadcast_not_running')
    },
    async resumeBroadcast(ref) {
      const now = clock.now()
      const broadcast = await storage.getBroadcast(ref, now)
      if (!broadcast) throw broadcastNotFound()
      const late = broadcast.status === 'scheduled' && (broadcast.scheduledAt ?? 0) < now
      // Schedule the broadcast for now if its time has passed; otherwise, it would count as missed again.
      const answer =
        late && broadcast.paused
          ? await storage.scheduleBroadcast({ ...ref, at: now }, now)
          : await storage.resumeBroadcast(ref, now)
      refuseFailedChange(answer, 'broadcast_not_paused')
      changed()
    },
    async resumeProvider(ref) {
      const answer = await storage.resumeProvider(ref, clock.now())
      if (answer === 'wrong_status') throw refuse('broadcast_provider_not_paused', { provider: ref.provider })
      refuseFailedChange(answer, 'broadcast_not_paused')
      changed()
    },
  }
}
