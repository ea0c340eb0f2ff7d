/** Open and click tracking: changes to messages, and handling of visits. */
import { isIP } from 'node:net'
import type { BotRule } from '../mail/bot-rule.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { createHitRecorder, type HitRecorderDeps, type HitRecorder } from './hits.ts'
import { listUnsubscribeLinks, type TrackingPlan } from './rewrite.ts'
import { createBotClassifier, type ClassifyVisit } from './bots.ts'
import { createNumberedLinks } from './numbered.ts'
import { verifyRecipientToken, verifyToken, type HitKind, type TrackingToken } from './tokens.ts'

export { LINK_PATH, listNumberedLinks, PIXEL_PATH } from './rewrite.ts'
export { trackMessage } from './mime.ts'
export type { Visit } from './bots.ts'

/** The fields of a domain that determine tracking. */
export type DomainTrackingFields = Pick<
  Domain,
  'name' | 'openTracking' | 'clickTracking' | 'trackingSubdomain' | 'checks'
>

export interface Tracking extends HitRecorder {
  /** Returns how to track an email; null if it isn't tracked. */
  planFor(
    domain: DomainTrackingFields,
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /**
   * Returns how to track an email of a broadcast, whose revision contains the settings and link numbers. Null if it
   * isn't tracked.
   */
  planWith(
    how: { opens: boolean; clicks: boolean; origin: string; numbered: TrackingPlan['numbered'] },
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /** Returns the origin of links in a domain's mail, tracked or not; null if nobody could follow them. */
  originFor(domain: DomainTrackingFields): string | null
  /**
   * Verifies the part of a URL after the path of a link or pixel; undefined if it wasn't created by this server.
   * Rejects if the storage fails.
   */
  open(kind: HitKind, rest: string): Promise<TrackingToken | undefined>
}

export interface TrackingDeps extends Omit<HitRecorderDeps, 'judge'> {
  storage: HitRecorderDeps['storage'] & Pick<Storage, 'getRevision'>
  /** At least 32 random octets, the same for all nodes that share a storage. */
  secret: Uint8Array
  /** Called on each visit, because the rules can be replaced. */
  robots: () => readonly BotRule[]
  /** Returns this server's own origin; null if it has none that others can reach. */
  origin: () => string | null
  /** Whether there is a certificate for a domain's own host name. Until then, links use this server's name. */
  certified: (host: string) => boolean
}

/** Returns a function that caches the classifier until the rules change. */
function judges(): (rules: readonly BotRule[]) => ClassifyVisit {
  let last: { rules: readonly BotRule[]; judge: ClassifyVisit } | undefined
  return (rules) => {
    if (last?.rules !== rules) last = { rules, judge: createBotClassifier(rules) }
    return last.judge
  }
}

/** Creates the tracking module. */
export function createTracking({ secret, robots, origin, certified, ...deps }: TrackingDeps): Tracking {
  const judgeBy = judges()
  const hits = createHitRecorder({ ...deps, judge: (visit, moment) => judgeBy(robots())(visit, moment) })
  const originFor = (domain: DomainTrackingFields): string | null => {
    const ours = origin()
    return ours === null ? null : chooseLinkOrigin(domain, ours, certified)
  }
  const planOf = (
    { opens, clicks, origin: leads, numbered }: Parameters<Tracking['planWith']>[0],
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null =>
    opens || clicks
      ? { secret, emailId, opens, clicks, leave: listUnsubscribeLinks(headers), origin: leads, numbered }
      : null
  const links = createNumberedLinks(deps)
  return {
    originFor,
    planWith: planOf,
    note: (kind, tracked, visit) => hits.note(kind, tracked, visit),
    async open(kind, rest) {
      const [token = '', n] = rest.split('/')
      const reader = verifyRecipientToken(secret, token)
      if (!reader) return verifyToken(secret, kind, rest)
      const { revisionId, emailId } = reader
      if (kind === 'open') return { emailId, link: '' }
      const link = await links.linkOf(revisionId, n ?? '')
      return link === undefined ? undefined : { emailId, link }
    },
    planFor(domain, emailId, headers) {
      const { openTracking: opens, clickTracking: clicks } = domain
      const leads = opens || clicks ? originFor(domain) : null
      return leads === null
        ? null
        : planOf({ opens, clicks, origin: leads, numbered: undefined }, emailId, headers)
    },
  }
}

/**
 * Returns the origin of tracked links. It has the domain's own host name if its record was found and, for HTTPS, it has
 * a certificate; otherwise this server's. Scheme and port are those of this server.
 */
export function chooseLinkOrigin(
  domain: DomainTrackingFields,
  ours: string,
  certified: TrackingDeps['certified'],
): string {
  const { name, trackingSubdomain, checks } = domain
  if (trackingSubdomain === null) return ours
  const host = `${trackingSubdomain}.${name}`
  // Key of the record's check (senders/records.ts: `getTrackingCheckKey`).
  const seen = checks.some(({ key, status }) => key === `Tracking ${host}` && status === 'verified')
  const url = new URL(ours)
  if (!seen || (url.protocol === 'https:' && !certified(host))) return ours
  url.hostname = host
  return url.origin
}

/**
 * Returns the origin of links if none is configured: that of the first listener; null if it listens on all addresses,
 * because nobody could follow such a link.
 */
export function pickReachableOrigin(listening: string | undefined): string | null {
  if (listening === undefined) return null
  const { hostname } = new URL(listening)
  const bare = hostname.replaceAll(/[[\]]/g, '')
  return isIP(bare) > 0 && /^[0.:]+$/.test(bare) ? null : listening
}
