/** Open and click tracking: changes to messages, and handling of visits. */
import { isIP } from 'node:net'
import type { RobotRule } from '../mail/robot.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { createHits, type HitDeps, type Hits } from './hits.ts'
import { unsubscribeLinks, type TrackingPlan } from './rewrite.ts'
import { createBotClassifier, type Judge } from './robots.ts'
import { createNumberedLinks } from './numbered.ts'
import { openReader, openToken, type HitKind, type Tracked } from './tokens.ts'

export { LINK_PATH, numberedLinks, PIXEL_PATH } from './rewrite.ts'
export { trackMessage } from './mime.ts'
export type { Visit } from './robots.ts'

/** The fields of a domain that decide about tracking. */
export type TrackedDomain = Pick<
  Domain,
  'name' | 'openTracking' | 'clickTracking' | 'trackingSubdomain' | 'checks'
>

export interface Tracking extends Hits {
  /** Decides how to track an email; null for not at all. */
  planFor(
    domain: TrackedDomain,
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /**
   * Decides how to track an email of a broadcast, whose revision has the settings and link numbers. Null when it isn't
   * tracked.
   */
  planWith(
    how: { opens: boolean; clicks: boolean; origin: string; numbered: TrackingPlan['numbered'] },
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /** Returns the origin of links in a domain's mail, tracked or not; null when they couldn't be followed. */
  originFor(domain: TrackedDomain): string | null
  /**
   * Verifies the rest of a URL after the path of a link or pixel; undefined when it wasn't made here. Rejects when the
   * storage fails.
   */
  open(kind: HitKind, rest: string): Promise<Tracked | undefined>
}

export interface TrackingDeps extends Omit<HitDeps, 'judge'> {
  storage: HitDeps['storage'] & Pick<Storage, 'getRevision'>
  /** At least 32 random octets, the same for all nodes that share a storage. */
  secret: Uint8Array
  /** Called on each visit, because the rules can be replaced. */
  robots: () => readonly RobotRule[]
  /** This server's own origin; null when it has none that is reachable. */
  origin: () => string | null
  /** Whether HTTPS works under a domain's own name. Until then, links use this server's name. */
  certified: (host: string) => boolean
}

/** Caches the judge until the rules change. */
function judges(): (rules: readonly RobotRule[]) => Judge {
  let last: { rules: readonly RobotRule[]; judge: Judge } | undefined
  return (rules) => {
    if (last?.rules !== rules) last = { rules, judge: createBotClassifier(rules) }
    return last.judge
  }
}

/** Creates the tracking module. */
export function createTracking({ secret, robots, origin, certified, ...deps }: TrackingDeps): Tracking {
  const judgeBy = judges()
  const hits = createHits({ ...deps, judge: (visit, moment) => judgeBy(robots())(visit, moment) })
  const originFor = (domain: TrackedDomain): string | null => {
    const ours = origin()
    return ours === null ? null : originOf(domain, ours, certified)
  }
  const planOf = (
    { opens, clicks, origin: leads, numbered }: Parameters<Tracking['planWith']>[0],
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null =>
    opens || clicks
      ? { secret, emailId, opens, clicks, leave: unsubscribeLinks(headers), origin: leads, numbered }
      : null
  const links = createNumberedLinks(deps)
  return {
    originFor,
    planWith: planOf,
    note: (kind, tracked, visit) => hits.note(kind, tracked, visit),
    async open(kind, rest) {
      const [token = '', n] = rest.split('/')
      const reader = openReader(secret, token)
      if (!reader) return openToken(secret, kind, rest)
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
 * Picks the domain's own name once its record was found and, for HTTPS, it has a certificate; otherwise this server's.
 * Scheme and port are the same.
 */
export function originOf(domain: TrackedDomain, ours: string, certified: TrackingDeps['certified']): string {
  const { name, trackingSubdomain, checks } = domain
  if (trackingSubdomain === null) return ours
  const host = `${trackingSubdomain}.${name}`
  // The key of the record's check (senders/records.ts: `trackingKeyOf`).
  const seen = checks.some(({ key, status }) => key === `Tracking ${host}` && status === 'verified')
  const url = new URL(ours)
  if (!seen || (url.protocol === 'https:' && !certified(host))) return ours
  url.hostname = host
  return url.origin
}

/**
 * Picks the origin of links when none is configured: the first listener, unless it listens on all addresses, which
 * isn't a name that anyone can follow.
 */
export function reachable(listening: string | undefined): string | null {
  if (listening === undefined) return null
  const { hostname } = new URL(listening)
  const bare = hostname.replaceAll(/[[\]]/g, '')
  return isIP(bare) > 0 && /^[0.:]+$/.test(bare) ? null : listening
}
