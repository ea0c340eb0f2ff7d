/** The addresses that mail leaves from, the pools they form, and which mail uses which pool. Pure. */
import { isIP } from 'node:net'
import type { Finding } from './finding.ts'

/** The pool of sources and mail that nobody gave another. */
export const DEFAULT_POOL = 'default'

/** In the place of an address: the system chooses one. */
export const AUTO = 'auto'

/** transactional: one email for one event · broadcast: one email for many people. */
export const STREAMS = ['transactional', 'broadcast'] as const
export type Stream = (typeof STREAMS)[number]

/** What the last check of a source saw. */
export interface SourceHealth {
  findings: Finding[]
  /** Whether mail may leave over IPv6 from here: PTR and SPF pass. Null: there is no IPv6, or it could not be told yet. */
  ipv6: boolean | null
}

/** A source: a local address, or the system's choice. Times in Unix milliseconds. */
export interface Source {
  /** An address of this machine in its canonical form, or `auto`. */
  ip: string
  pool: string
  /** EHLO name; null for the appliance's. */
  hostname: string | null
  /** Nothing leaves from a suspended source. */
  state: 'active' | 'suspended'
  /** Why it is suspended, for people; null while it is active. */
  stateReason: string | null
  /** An operator's suspension is never ended by a check. Null while it is active. */
  suspendedBy: 'operator' | 'check' | null
  /** When its warm-up began; null: it is warm, no plan limits it. */
  warmUpSince: number | null
  /** `configuration`: comes and goes with `delivery.source_ips`. */
  origin: 'configuration' | 'operator'
  health: SourceHealth | null
  checkedAt: number | null
}

/** Sends the mail of a team, a domain and a stream, each null for any, through a pool. */
export interface Assignment {
  id: string
  teamId: string | null
  domainId: string | null
  stream: Stream | null
  pool: string
}

/** Whose mail is asked about; `domainId` is null for mail of no known domain, such as reports. */
export interface PoolQuestion {
  teamId: string
  domainId: string | null
  stream: Stream
}

/** How much an assignment says: a domain more than a team, a team more than a stream. */
const weight = ({ domainId, teamId, stream }: Assignment): number =>
  (domainId === null ? 0 : 4) + (teamId === null ? 0 : 2) + (stream === null ? 0 : 1)

/** The pool of some mail: the most specific assignment's, and `default` where none is about it. Of equals, the oldest. */
export function choosePool(assignments: readonly Assignment[], mail: PoolQuestion): string {
  const about = assignments.filter(
    ({ teamId, domainId, stream }) =>
      (teamId === null || teamId === mail.teamId) &&
      (domainId === null || domainId === mail.domainId) &&
      (stream === null || stream === mail.stream),
  )
  const [best] = about.toSorted((a, b) => weight(b) - weight(a) || (a.id < b.id ? -1 : 1))
  return best?.pool ?? DEFAULT_POOL
}

/** 4 or 6: which kind of address is spoken to. */
export type Family = 4 | 6

/** Whether mail can leave from a source towards addresses of a family. IPv6 waits for the first check that passes. */
export function isUsable({ ip, state, health }: Source, family: Family): boolean {
  if (state !== 'active') return false
  if (family === 6) return (ip === AUTO || isIP(ip) === 6) && health?.ipv6 === true
  return ip === AUTO || isIP(ip) === 4
}

/**
 * The sources that mail of a pool may leave from towards addresses of `family`. A pool without any usable source, of
 * either family, is replaced by `default`. An empty list: there is no way, for the reason that `whyNoSource` gives.
 */
export function usableSources(sources: readonly Source[], pool: string, family: Family): Source[] {
  const inPool = sources.filter((source) => source.pool === pool)
  const works = inPool.some((source) => isUsable(source, 4) || isUsable(source, 6))
  const chosen = works ? inPool : sources.filter((source) => source.pool === DEFAULT_POOL)
  return chosen.filter((source) => isUsable(source, family))
}

/** Why no source of a pool can be used towards `family`, for the person who asks why mail waits. */
export function whyNoSource(sources: readonly Source[], pool: string, family: Family): string {
  const pools = pool === DEFAULT_POOL ? [pool] : [pool, DEFAULT_POOL]
  const reasons = pools.flatMap((name) => {
    const inPool = sources.filter((source) => source.pool === name)
    return inPool.length === 0 ? [`the pool ${name} is empty`] : inPool.map((one) => whyNot(one, family))
  })
  return `No sending IP is usable for IPv${family}: ${reasons.join('; ')}.`
}

function whyNot({ ip, state, stateReason, health }: Source, family: Family): string {
  const name = ip === AUTO ? "the system's default address" : ip
  if (state === 'suspended') return `${name} is suspended (${(stateReason ?? '').replace(/\.$/, '')})`
  if (ip !== AUTO && isIP(ip) !== family) return `${name} is IPv${isIP(ip)}`
  if (health === null) return `${name} has not been checked yet`
  if (health.ipv6 === null) return `${name} has no IPv6, or a DNS lookup for it failed`
  return `${name} lacks the PTR or SPF record that receivers require over IPv6`
}

/**
 * What SPF policies must name: the configured addresses as they are written, then those that an operator added; `auto` last,
 * where the system chooses beside them. Empty when nothing but the system chooses.
 */
export function spfSources(configured: readonly string[], sources: readonly Source[]): string[] {
  const added = sources.filter(({ ip, origin }) => origin === 'operator' && !configured.includes(ip))
  const named = [...configured, ...added.map(({ ip }) => ip)]
  return named.length > 0 && sources.some(({ ip }) => ip === AUTO) ? [...named, AUTO] : named
}
