/** Opens and clicks: what is put into messages, and what is made of those who come for it. */
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

/** What of a domain decides about tracking. */
export type TrackedDomain = Pick<
  Domain,
  'name' | 'openTracking' | 'clickTracking' | 'trackingSubdomain' | 'checks'
>

export interface Tracking extends Hits {
  /** How an email is to be tracked; null for not at all. */
  planFor(
    domain: TrackedDomain,
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /** The same for mail whose settings are kept with it. Null: it is not tracked. */
  planWith(
    how: { opens: boolean; clicks: boolean; origin: string },
    emailId: string,
    headers: readonly { name: string; value: string }[],
  ): TrackingPlan | null
  /** Where links in a domain's mail lead, tracked or not; null when nobody could follow them. */
  originFor(domain: TrackedDomain): string | null
  /** What a token says; undefined for one that we did not make. */
  open(kind: HitKind, token: string): Tracked | undefined
}

export interface TrackingDeps extends Omit<HitDeps, 'judge'> {
  /** At least 32 random octets; the same for all nodes of a storage. */
  secret: Uint8Array
  /** Asked at each visit: they can be exchanged. */
  robots: () => readonly RobotRule[]
  /** The appliance's own origin; null when it has none that people could reach. */
  origin: () => string | null
  /** Whether HTTPS at a domain's own name works: until it does, links lead through the appliance's. */
  certified: (host: string) => boolean
}

/** The judge of the rules; a new one only when the rules are others. */
function judges(): (rules: readonly RobotRule[]) => Judge {
  let last: { rules: readonly RobotRule[]; judge: Judge } | undefined
  return (rules) => {
    if (last?.rules !== rules) last = { rules, judge: createJudge(rules) }
    return last.judge
  }
}

/** Builds it. */
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
 * The domain's own name once its record is seen and, for https, it has a certificate; else the appliance's. Scheme and port
 * are the same.
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
 * The origin that links lead to when none is configured: the first listening one, unless it is every address of the machine
 * at once, which nobody can follow.
 */
export function reachable(listening: string | undefined): string | null {
  if (listening === undefined) return null
  const { hostname } = new URL(listening)
  const bare = hostname.replaceAll(/[[\]]/g, '')
  return isIP(bare) > 0 && /^[0.:]+$/.test(bare) ? null : listening
}
