/**
 * Handles the choices that people make through links in their mail: on the preference page, and by one-click (RFC
 * 8058).
 */
import type { ConsentContext } from '../mail/audience.ts'
import { maskAddress, type UnsubscribePage } from '../mail/unsubscribe-page.ts'
import type { ContactTopic, PreferenceChange, Preferences } from '../storage/storage.ts'
import type { PageTopic } from './preference-page.ts'
import type { PreferencesTarget, PreferencesTokens } from './tokens.ts'
import type { AudienceDeps } from './find.ts'

/** Contents of the page that a link opens. */
export interface PreferencePageData {
  team: string
  page: UnsubscribePage
  /** Recipient's address, masked because mail gets forwarded. */
  address: string
  unsubscribed: boolean
  /** The topic of the email that contained the link; null if there was none or it was deleted. */
  topic: PageTopic | null
  /** The topics that the person can choose from. */
  topics: PageTopic[]
}

/** The visitor who made a choice, for the consent log. */
export interface Visitor {
  ip: string
  userAgent: string | null
  /** Id of the text that the person saw; null if there is none. */
  wording: string | null
}

export interface PreferenceMethods {
  /** Returns the page that a token is for; undefined if this server didn't create the token. */
  openPreferences(args: { token: string }): Promise<PreferencePageData | undefined>
  /** Stores a choice made on the page, which may also lift an opt-out. Returns false for an invalid token. */
  changePreferences(args: { token: string; change: PreferenceChange; visitor: Visitor }): Promise<boolean>
  /**
   * Opts out of the token's topic. Without a topic, or if it was deleted, opts out of all email. Idempotent. Returns
   * false for an invalid token.
   */
  unsubscribeOneClick(args: { token: string; visitor: Visitor }): Promise<boolean>
}

/** Maximum number of characters of a user agent that are stored. */
const USER_AGENT = 500

export function createPreferenceMethods(
  { storage, clock }: AudienceDeps,
  tokens: PreferencesTokens,
): PreferenceMethods {
  const save = async (
    { topicId: _, sourceId, ...person }: PreferencesTarget,
    change: PreferenceChange,
    via: string,
    { ip, userAgent, wording }: Visitor,
  ): Promise<void> => {
    const agent = userAgent?.slice(0, USER_AGENT) ?? null
    const origin = { origin: 'person', via, source: sourceId, lifts: true } as const
    const act: ConsentContext = { ...origin, ip, userAgent: agent, wording }
    await storage.savePreferences({ ...person, change, act }, clock.now())
  }
  const find = async (token: string) => {
    const target = tokens.open(token)
    const found = target && (await storage.getPreferences(target, clock.now()))
    return target && found ? { target, found } : undefined
  }
  return {
    async openPreferences({ token }) {
      const opened = await find(token)
      if (!opened) return undefined
      const { target, found } = opened
      const team = await storage.getTeam({ id: target.teamId }, clock.now())
      if (!team) return undefined
      const page = await storage.getUnsubscribePage({ teamId: target.teamId }, clock.now())
      const shown = { team: team.name, page, address: maskAddress(target.address) }
      return { ...shown, ...topicsFor(target, found), unsubscribed: found.unsubscribed }
    },
    async changePreferences({ token, change, visitor }) {
      const opened = await find(token)
      if (!opened) return false
      const offered = new Set(topicsFor(opened.target, opened.found).topics.map(({ id }) => id))
      const topics = change.topics.filter(({ id }) => offered.has(id))
      await save(opened.target, { ...change, topics }, 'preferences', visitor)
      return true
    },
    async unsubscribeOneClick({ token, visitor }) {
      const opened = await find(token)
      if (!opened) return false
      const { target, found } = opened
      const known = found.topics.some(({ id }) => id === target.topicId)
      const change: PreferenceChange =
        target.topicId !== null && known
          ? { topics: [{ id: target.topicId, subscription: 'opt_out' }] }
          : { unsubscribed: true, topics: [] }
      await save(target, change, 'one_click', visitor)
      return true
    },
  }
}

const toPageTopic = ({ id, name, description, subscription }: ContactTopic): PageTopic => ({
  id,
  name,
  description,
  subscribed: subscription === 'opt_in',
})

/**
 * Lists the topics that a person can choose from: public topics, private topics that the person receives or has made a
 * choice for, and the topic of the link. Without a contact, new subscriptions can't be stored, so only topics that the
 * person receives or has left are offered.
 */
function topicsFor({ topicId }: PreferencesTarget, { topics, contactId }: Preferences) {
  const isOffered = ({
    id,
    visibility,
    subscription,
    choice,
    defaultSubscription,
  }: ContactTopic): boolean => {
    if (id === topicId) return true
    if (contactId === null) return visibility === 'public' && defaultSubscription === 'opt_in'
    return visibility === 'public' || subscription === 'opt_in' || choice?.origin === 'person'
  }
  const offered = topics.filter(isOffered).map(toPageTopic)
  return { topic: offered.find(({ id }) => id === topicId) ?? null, topics: offered }
}
