import { buildExpectedRecords, type ExpectedRecord, type SendingHost } from '../senders/records.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { findDnsBehavior } from './behaviours.ts'
import type { ZoneEntry, ZoneRecords } from './zone.ts'

/**
 * DNS answers of the sandbox. Every name exists and accepts mail at the two exchangers, unless its first label selects
 * something else. Records that the teams' domains need are published as soon as a domain is added.
 */

/** IPs of the exchangers `mx1` and `mx2` of every domain, and an IP without a listener. */
export const EXCHANGER_IPS = { mx1: '127.0.0.1', mx2: '127.0.0.2', dead: '127.0.0.3' }

/** TTL of records in seconds. Short, so that changes are visible quickly. */
const TTL = 5

const mxOf = (domain: string): ZoneRecords['MX'] => [
  { preference: 10, exchange: `mx1.${domain}` },
  { preference: 20, exchange: `mx2.${domain}` },
]

/** Returns the records published at `name`, out of those that the teams' domains need. */
function publishedEntry(name: string, records: readonly ExpectedRecord[]): ZoneRecords | undefined {
  const here = records.filter((record) => record.fqdn === name)
  if (here.length === 0) return undefined
  const MX = here
    .filter(({ type }) => type === 'MX')
    .map(({ value, priority }) => ({ preference: priority ?? 10, exchange: value }))
  const TXT = here.filter(({ type }) => type === 'TXT').map(({ value }) => value)
  const alias = here.find(({ type }) => type === 'CNAME')
  if (alias) return { CNAME: alias.value, ttl: TTL }
  return { MX, TXT, ttl: TTL }
}

/** Returns the generated answer for any other name. */
function inventedEntry(name: string, hostname: string): ZoneEntry {
  if (name === hostname) return { A: '127.0.0.1', ttl: TTL }
  if (name.endsWith('.in-addr.arpa')) return { PTR: hostname, ttl: TTL }
  const [first = '', ...rest] = name.split('.')
  if (first.startsWith('_')) return 'NXDOMAIN'
  if (first === 'mx1' || first === 'mx2') {
    const dead = first === 'mx1' && findDnsBehavior(rest.join('.'))?.answer === 'dead-mx'
    // Mail that recipients send back comes from loopback, and reports have to pass DMARC.
    return { A: dead ? EXCHANGER_IPS.dead : EXCHANGER_IPS[first], TXT: 'v=spf1 ip4:127.0.0.1 -all', ttl: TTL }
  }
  const behaviour = findDnsBehavior(name)?.answer
  if (behaviour === 'NXDOMAIN' || behaviour === 'SERVFAIL') return behaviour
  if (behaviour === 'null-mx') return { MX: { preference: 0, exchange: '' }, ttl: TTL }
  return { MX: mxOf(name), ttl: TTL }
}

/** If several teams have the same domain, the records of the team that verified it are published. */
const holds = ({ status }: Domain): boolean => status === 'verified' || status === 'partially_failed'

/**
 * Creates the sandbox's DNS as a function of the name. Reads the teams' domains for each query, because other processes
 * add them.
 */
export function createSandboxDns(storage: Storage, host: SendingHost, now: () => number) {
  /** Finds the innermost domain of any team that contains a name. */
  const domainAround = async (name: string): Promise<Domain | undefined> => {
    const teams = await storage.listTeams({}, now())
    const all = await Promise.all(teams.map(({ id }) => storage.listDomains({ teamId: id }, now())))
    return all
      .flat()
      .filter((domain) => name === domain.name || name.endsWith(`.${domain.name}`))
      .sort((a, b) => b.name.length - a.name.length || Number(holds(b)) - Number(holds(a)))[0]
  }
  return async (name: string): Promise<ZoneEntry> => {
    const domain = await domainAround(name)
    if (!domain) return inventedEntry(name, host.hostname)
    const keys = await storage.dkimKeys({ domainId: domain.id }, now())
    return (
      publishedEntry(name, buildExpectedRecords(domain, keys, host)) ?? inventedEntry(name, host.hostname)
    )
  }
}
