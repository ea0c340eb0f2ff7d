/** Whom a team writes to: contacts, their segments, topics and properties, and what they agreed to. */
import { type BatchMethods, batchMethods } from './batches.ts'
import { type ContactMethods, contactMethods } from './contacts.ts'
import {
  createSweeper,
  type PropertyMethods,
  propertyMethods,
  type SegmentMethods,
  segmentMethods,
  type TopicMethods,
  topicMethods,
} from './lists.ts'
import { type MemberMethods, memberMethods } from './members.ts'
import { type PreferenceMethods, preferenceMethods } from './preferences.ts'
import type { PreferencesTokens } from './tokens.ts'
import { type PageMethods, pageMethods } from './unsubscribe-page.ts'
import type { AudienceDeps } from './which.ts'

export type { ContactDetails } from './contacts.ts'
export type { PickedContacts } from './batches.ts'
export type { OpenedPreferences, Visitor } from './preferences.ts'
export {
  PAGE_ACTIONS,
  type PageAction,
  type PageNotice,
  type PageTopic,
  renderNotFound,
  type RenderedPage,
  renderPreferencePage,
} from './preference-page.ts'
export { WORDS } from './page-words.ts'
export {
  createPreferencesTokens,
  PREFERENCES_PATH,
  type PreferencesTarget,
  type PreferencesTokens,
} from './tokens.ts'

export interface Audience
  extends
    ContactMethods,
    BatchMethods,
    MemberMethods,
    SegmentMethods,
    TopicMethods,
    PropertyMethods,
    PreferenceMethods,
    PageMethods {
  /** Goes on with what a stop interrupted. For the daemon alone. */
  start(): void
  /** Ends the background work. */
  close(): Promise<void>
}

/** @param deps tokens: of the links to the preference page */
export function createAudience(deps: AudienceDeps & { tokens: PreferencesTokens }): Audience {
  const sweeper = createSweeper(deps)
  const swept = (): void => sweeper.wake()
  return {
    ...contactMethods(deps),
    ...batchMethods(deps),
    ...memberMethods(deps),
    ...segmentMethods(deps, swept),
    ...topicMethods(deps, swept),
    ...propertyMethods(deps),
    ...preferenceMethods(deps, deps.tokens),
    ...pageMethods(deps),
    start: swept,
    close: () => sweeper.close(),
  }
}
