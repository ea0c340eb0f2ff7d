/** Whom a team writes to: contacts, their segments, topics and properties, and what they agreed to. */
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
import type { AudienceDeps } from './which.ts'

export type { ContactDetails } from './contacts.ts'
export {
  createPreferencesTokens,
  PREFERENCES_PATH,
  type PreferencesTarget,
  type PreferencesTokens,
} from './tokens.ts'

export interface Audience
  extends ContactMethods, MemberMethods, SegmentMethods, TopicMethods, PropertyMethods {
  /** Goes on with what a stop interrupted. For the daemon alone. */
  start(): void
  /** Ends the background work. */
  close(): Promise<void>
}

export function createAudience(deps: AudienceDeps): Audience {
  const sweeper = createSweeper(deps)
  const swept = (): void => sweeper.wake()
  return {
    ...contactMethods(deps),
    ...memberMethods(deps),
    ...segmentMethods(deps, swept),
    ...topicMethods(deps, swept),
    ...propertyMethods(deps),
    start: swept,
    close: () => sweeper.close(),
  }
}
