/** Broadcasts: one email to each contact of a segment, from the draft to the results. */
import { type AbTestMethods, abTestMethods } from './ab-results.ts'
import { type DraftMethods, createDraftMethods } from './drafts.ts'
import { createBroadcastMail, type MailDeps } from './mail.ts'
import { type ResultMethods, createResultMethods } from './results.ts'
import { type ReachMethods, createReachMethods } from './segment-providers.ts'
import { type ReviewMethods, createReviewMethods } from './review.ts'
import { createBroadcastRunner, type RunnerDeps } from './runner.ts'
import { type SampleMethods, createSampleMethods } from './sample.ts'
import { type SendingMethods, createSendingMethods } from './sending.ts'
import { type VersionMethods, createVersionMethods } from './versions.ts'

export { isRecord } from './mail.ts'
export { publishedContent } from './published.ts'
export { createQueueLimitsLoader, type LaneRate } from './windows.ts'

export interface Broadcasts
  extends
    DraftMethods,
    VersionMethods,
    SampleMethods,
    SendingMethods,
    ResultMethods,
    ReviewMethods,
    AbTestMethods,
    ReachMethods {
  /**
   * Returns the message of an email: the stored bytes, or composed from a stored record. Undefined if its broadcast was
   * deleted.
   */
  messageOf(emailId: string, stored: Uint8Array): Promise<Uint8Array | undefined>
  /** Continues work that a stop interrupted. Only for the daemon. */
  start(): void
  /** Stops the background work. */
  close(): Promise<void>
}

export type BroadcastsDeps = Omit<RunnerDeps, 'mail'> & MailDeps & Parameters<typeof createReviewMethods>[0]

export function createBroadcasts(deps: BroadcastsDeps): Broadcasts {
  const mail = createBroadcastMail(deps)
  const runner = createBroadcastRunner({ ...deps, mail })
  return {
    ...createDraftMethods(deps),
    ...createVersionMethods(deps),
    ...createSampleMethods(deps),
    ...createSendingMethods(deps, () => runner.wake()),
    ...createResultMethods(deps),
    ...createReviewMethods(deps),
    ...abTestMethods(deps, () => runner.wake()),
    ...createReachMethods(deps),
    messageOf: (emailId, stored) => mail.messageOf(emailId, stored),
    start: () => runner.start(),
    close: () => runner.stop(),
  }
}
