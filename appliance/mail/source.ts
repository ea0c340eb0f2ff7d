/** Sending IPs, their pools, and the assignment of mail to pools. Pure. */
import { isIP } from 'node:net'
import type { Finding } from './finding.ts'
import { applyRegion, type RegionMap } from './region.ts'

/** The pool for sending IPs and mail that aren't assigned to another one. */
export const DEFAULT_POOL = 'default'

/** Used instead of an IP when the operating system chooses it. */
export const AUTO_IP = 'auto'

/** transactional: one email for one event · broadcast: the same email to many people. */
export const STREAMS = ['transactional', 'broadcast'] as const
export type Stream = (typeof STREAMS)[number]

/** The result of the last check of a sending IP. */
export interface SourceHealth {
  findings: Finding[]
  /**
   * Whether the IP may send over IPv6: its PTR and SPF records pass. Null if there is no IPv6, or it hasn't been
   * determined yet.
   */
  ipv6: boolean | null
}

/** A sending IP, or the system's choice. Times in Unix milliseconds. */
export interface Source {
  /** An address of this machine in its canonical form, or `auto`. */
  ip: string
  pool: string
  /** EHLO name; null for the server's own. */
  hostname: string | null
  /** Nothing is sent from a suspended IP. */
  state: 'active' | 'suspended'
  /** Why the IP is suspended, for people; null while it is active. */
  stateReason: string | null
  /** Who suspended it: a suspension by an operator is never lifted by a check. Null while it is active. */
  suspendedBy: 'operator' | 'check' | null
  /** When the IP's warm-up began; null without a warm-up. */
  warmUpSince: number | null
  /** `configuration`: added and removed with `delivery.source_ips`. */
  origin: 'configuration' | 'operator'
  health: SourceHealth | null
  checkedAt: number | null
}

/** Assigns the mail of a team, domain and stream (each null for any) to a pool. */
export interface Assignment {
  id: string
  teamId: string | null
  domainId: string | null
  stream: Stream | null
  pool: string
}

/** The mail to find a pool for; `domainId` and `region` are null for mail of no known domain. */
export interface PoolQuery {
  teamId: string
  domainId: string | null
  /** The region of the domain. */
  region: string | null
  stream: Stream
}

/** Ranks an assignment: a domain is more specific than a team, a team more than a stream. */
const weight = ({ domainId, teamId, stream }: Assignment): number =>
  (domainId === null ? 0 : 4) + (teamId === null ? 0 : 2) + (stream === null ? 0 : 1)

/**
 * Picks the pool of the most specific matching assignment, the oldest among equals; `default` when none matches. Unless
 * the assignment names the domain or team, the mail then goes to a pool in the domain's region, if there is one. Mail of
 * a region that is failed over goes to the other region.
 */
export function choosePool(assignments: readonly Assignment[], mail: PoolQuery, regions: RegionMap): string {
  const about = assignments.filter(
    ({ teamId, domainId, stream }) =>
      (teamId === null || teamId === mail.teamId) &&
      (domainId === null || domainId === mail.domainId) &&
      (stream === null || stream === mail.stream),
  )
  const [best] = about.toSorted((a, b) => weight(b) - weight(a) || (a.id < b.id ? -1 : 1))
  const named = best !== undefined && (best.domainId !== null || best.teamId !== null)
  return applyRegion({ pool: best?.pool ?? DEFAULT_POOL, named }, mail.region, regions)
}

/** The address family of the receiving server, 4 or 6. */
export type AddressFamily = 4 | 6

/** Whether mail can be sent from a source to IPs of a family. IPv6 requires a passed check. */
export function isUsable({ ip, state, health }: Source, family: AddressFamily): boolean {
  if (state !== 'active') return false
  if (family === 6) return (ip === AUTO_IP || isIP(ip) === 6) && health?.ipv6 === true
  return ip === AUTO_IP || isIP(ip) === 4
}

/**
 * Returns the sources of a pool that can send to IPs of `family`. Falls back to `default` when the pool has no usable
 * source in either family. Empty when there is none; `explainMissingSource` gives the reason.
 */
export function selectUsableSources(
  sources: readonly Source[],
  pool: string,
  family: AddressFamily,
): Source[] {
  const inPool = sources.filter((source) => source.pool === pool)
  const works = inPool.some((source) => isUsable(source, 4) || isUsable(source, 6))
  const chosen = works ? inPool : sources.filter((source) => source.pool === DEFAULT_POOL)
  return chosen.filter((source) => isUsable(source, family))
}

/** Explains to people why no source of a pool can send to `family`. */
export function explainMissingSource(
  sources: readonly Source[],
  pool: string,
  family: AddressFamily,
): string {
  const pools = pool === DEFAULT_POOL ? [pool] : [pool, DEFAULT_POOL]
  const reasons = pools.flatMap((name) => {
    const inPool = sources.filter((source) => source.pool === name)
    return inPool.length === 0 ? [`the pool ${name} is empty`] : inPool.map((one) => whyNot(one, family))
  })
  return `No sending IP is usable for IPv${family}: ${reasons.join('; ')}.`
}

function whyNot({ ip, state, stateReason, health }: Source, family: AddressFamily): string {
  const name = ip === AUTO_IP ? "the system's default address" : ip
  if (state === 'suspended') return `${name} is suspended (${(stateReason ?? '').replace(/\.$/, '')})`
  if (ip !== AUTO_IP && isIP(ip) !== family) return `${name} is IPv${isIP(ip)}`
  if (health === null) return `${name} has not been checked yet`
  if (health.ipv6 === null) return `${name} has no IPv6, or a DNS lookup for it failed`
  return `${name} lacks the PTR or SPF record that receivers require over IPv6`
}

/**
 * Returns the sources that SPF records must name: first the configured IPs as written, then the IPs added by an
 * operator, and last `auto` when the system chooses, too. Empty when only the system chooses.
 */
export function listSpfSources(configured: readonly string[], sources: readonly Source[]): string[] {
  const added = sources.filter(({ ip, origin }) => origin === 'operator' && !configured.includes(ip))
  const named = [...configured, ...added.map(({ ip }) => ip)]
  return named.length > 0 && sources.some(({ ip }) => ip === AUTO_IP) ? [...named, AUTO_IP] : named
}

/** Pools whose mail a node may send: either only the named pools, or all except those. */
export interface PoolFilter {
  pools: string[]
  only: boolean
}

/** Returns the IPs of sources that belong to other nodes. Each node has its own `auto`. */
export function listOtherNodeSources(all: readonly Source[], own: readonly Source[]): ReadonlySet<string> {
  return new Set(all.flatMap(({ ip }) => (ip === AUTO_IP || own.some((one) => one.ip === ip) ? [] : [ip])))
}

/**
 * Returns the pools whose mail this node may send: those that send from one of its sources, and those that no node can
 * send now. Undefined for all pools. Mail of unknown pools is sent like that of `default`.
 */
export function computePoolFilter(
  sources: readonly Source[],
  foreign: ReadonlySet<string>,
): PoolFilter | undefined {
  const serves = (pool: string): boolean => {
    const usable = ([4, 6] as const).flatMap((family) => selectUsableSources(sources, pool, family))
    return usable.length === 0 || usable.some(({ ip }) => !foreign.has(ip))
  }
  const known = [...new Set(sources.map(({ pool }) => pool))]
  if (!serves(DEFAULT_POOL)) return { pools: known.filter(serves), only: true }
  const others = known.filter((pool) => !serves(pool))
  return others.length > 0 ? { pools: others, only: false } : undefined
}
