/** Broadcasts: one email to each contact of a segment, from the draft to the results. */
import { type AbTestMethods, abTestMethods } from './ab-results.ts'
import { type DraftMethods, draftMethods } from './drafts.ts'
import { createBroadcastMail, type MailDeps } from './mail.ts'
import { type ResultMethods, resultMethods } from './results.ts'
import { type ReachMethods, reachMethods } from './reach.ts'
import { type ReviewMethods, reviewMethods } from './review.ts'
import { createBroadcastRunner, type RunnerDeps } from './runner.ts'
import { type SampleMethods, sampleMethods } from './sample.ts'
import { type SendingMethods, sendingMethods } from './sending.ts'
import { type VersionMethods, versionMethods } from './versions.ts'

export { isRecord } from './mail.ts'
export { publishedContent } from './published.ts'
export { createWindows, type LaneRate } from './windows.ts'

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

export type BroadcastsDeps = Omit<RunnerDeps, 'mail'> & MailDeps & Parameters<typeof reviewMethods>[0]

export function createBroadcasts(deps: BroadcastsDeps): Broadcasts {
  const mail = createBroadcastMail(deps)
  const runner = createBroadcastRunner({ ...deps, mail })
  return {
    ...draftMethods(deps),
    ...versionMethods(deps),
    ...sampleMethods(deps),
    ...sendingMethods(deps, () => runner.wake()),
    ...resultMethods(deps),
    ...reviewMethods(deps),
    ...abTestMethods(deps, () => runner.wake()),
    ...reachMethods(deps),
    messageOf: (emailId, stored) => mail.messageOf(emailId, stored),
    start: () => runner.start(),
    close: () => runner.stop(),
  }
}
