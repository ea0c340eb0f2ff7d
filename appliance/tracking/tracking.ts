/** Open and click tracking: what goes into messages, and what happens on a visit. */
import { isIP } from 'node:net'
import type { RobotRule } from '../mail/robot.ts'
import type { Domain } from '../storage/storage.ts'
import { createHits, type HitDeps, type Hits } from './hits.ts'
import { unsubscribeLinks, type TrackingPlan } from './rewrite.ts'
import { createJudge, type Judge } from './robots.ts'
import { openToken, type HitKind, type Tracked } from './tokens.ts'

export { LINK_PATH, PIXEL_PATH } from './rewrite.ts'
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
  /** The same for mail that was stored with its settings. Null when it isn't tracked. */
  planWith(
    how: { opens: boolean; clicks: boolean; origin: string },
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /** Returns the origin of links in a domain's mail, tracked or not; null when they couldn't be followed. */
  originFor(domain: TrackedDomain): string | null
  /** Verifies a token; undefined when it wasn't made here. */
  open(kind: HitKind, token: string): Tracked | undefined
}

export interface TrackingDeps extends Omit<HitDeps, 'judge'> {
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
    if (last?.rules !== rules) last = { rules, judge: createJudge(rules) }
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
  const planWith: Tracking['planWith'] = ({ opens, clicks, origin: leads }, emailId, headers) =>
    opens || clicks
      ? { secret, emailId, opens, clicks, leave: unsubscribeLinks(headers), origin: leads }
      : null
  return {
    originFor,
    planWith,
    note: (kind, tracked, visit) => hits.note(kind, tracked, visit),
    open: (kind, token) => openToken(secret, kind, token),
    planFor(domain, emailId, headers) {
      const { openTracking: opens, clickTracking: clicks } = domain
      const leads = opens || clicks ? originFor(domain) : null
      return leads === null ? null : planWith({ opens, clicks, origin: leads }, emailId, headers)
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
