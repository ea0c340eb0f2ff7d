/**
 * Reports the reverse DNS of the IPs that a domain's mail is sent from. Does no lookups: background checks store their
 * results with the sources.
 */
import { isIPv6 } from 'node:net'
import type { Finding, FindingStatus } from '../mail/finding.ts'
import type { RegionMap } from '../mail/region.ts'
import {
  AUTO_IP,
  choosePool,
  STREAMS,
  selectUsableSources,
  type Assignment,
  type AddressFamily,
  type Source,
} from '../mail/source.ts'
import type { Domain, RecordStatus } from '../storage/storage.ts'

/** All sources, which mail uses which pool, and where the pools are. */
export interface SourcesAndPools {
  sources: readonly Source[]
  assignments: readonly Assignment[]
  regions: RegionMap
}

/** The combined result: the worst IP decides, and `note` names it and says what to do. */
export interface ReverseDns {
  status: RecordStatus | 'warning'
  note: string | null
}

type Opinion = Pick<ReverseDns, 'status'> & Pick<Finding, 'id' | 'found' | 'advice'>

const FAMILIES: readonly AddressFamily[] = [4, 6]
/** Maximum number of IPs that a note names. Pools may have dozens, often with the same problem. */
const MOST_TOLD = 3

const STATUS: Record<FindingStatus, ReverseDns['status']> = {
  failed: 'failed',
  warning: 'warning',
  skipped: 'temporary_failure',
  ok: 'verified',
}
const WORST: readonly ReverseDns['status'][] = [
  ...(['failed', 'warning', 'temporary_failure'] as const),
  ...(['not_started', 'verified'] as const),
]

const UNKNOWN = 'No sending IP is known yet. The server records them when it starts.'
const UNUSABLE = 'No sending IP is usable right now, so no mail is sent.'

/** Combines the results for all pools that a domain uses. Skips suspended IPs. Pure. */
export function combineReverseDns(
  { id, teamId, region }: Pick<Domain, 'id' | 'teamId' | 'region'>,
  { sources, assignments, regions }: SourcesAndPools,
): ReverseDns {
  const pools = new Set(
    STREAMS.map((stream) => choosePool(assignments, { teamId, domainId: id, region, stream }, regions)),
  )
  const opinions = [...pools].flatMap((pool) =>
    FAMILIES.flatMap((family) =>
      selectUsableSources(sources, pool, family).flatMap((source) => opinionsOf(source, family)),
    ),
  )
  const different = [...new Map(opinions.map((one) => [one.id, one])).values()]
  const status = WORST.find((one) => different.some((opinion) => opinion.status === one))
  if (status === undefined) return { status: 'not_started', note: sources.length === 0 ? UNKNOWN : UNUSABLE }
  return { status, note: status === 'verified' ? null : noteOf(different, status) }
}

function opinionsOf({ ip, health }: Source, family: AddressFamily): Opinion[] {
  if (health === null) {
    const what = ip === AUTO_IP ? "The system's default address" : ip
    return [
      { id: `source:${ip}`, status: 'not_started', found: `${what} has not been checked yet.`, advice: null },
    ]
  }
  return health.findings.flatMap(({ id, status, found, advice }): Opinion[] => {
    if (id === `seen:${ip}`) return [{ id, status: 'not_started', found, advice }]
    const address = /^ptr:(.+)$/.exec(id)?.[1]
    const counts = address !== undefined && isIPv6(address) === (family === 6)
    return counts ? [{ id, status: STATUS[status], found, advice }] : []
  })
}

function noteOf(opinions: readonly Opinion[], status: ReverseDns['status']): string {
  const about = opinions.filter((one) => one.status === status)
  const told = about.slice(0, MOST_TOLD).map(({ found, advice }) => (advice ? `${found} ${advice}` : found))
  const rest = about.length - told.length
  return [...told, ...(rest > 0 ? [`And ${rest} more.`] : [])].join(' ')
}
