/** Checks our DNS server from the point of view of the internet: the delegation, and whether port 53 is reachable. */
import type { Answer, Resolver } from '../dns/dns.ts'
import type { Finding } from '../mail/finding.ts'
import type { SendingHost } from '../senders/records.ts'
import { testConnection } from './connect.ts'

/** DNS facts about the zone. */
export interface NameserverFacts {
  zone: string
  /** Names of the DNS servers that the parent zone must list. */
  names: readonly string[]
  /** The NS records of the zone, as returned by a resolver, and over UDP by the zone's own servers. */
  resolved: Answer<'NS'>
  direct: Answer<'NS'>
  /** Why an address of a server doesn't answer over TCP; null if it does. */
  tcp: { ip: string; why: string | null }[]
}

const TIMEOUT = 5000

/** Queries DNS for the zone. Returns null if there is none. Never rejects. */
export async function queryNameserver(
  resolver: Resolver,
  { nameserver }: SendingHost,
  dial: typeof testConnection = testConnection,
): Promise<NameserverFacts | null> {
  if (!nameserver) return null
  const { zone, names } = nameserver
  const [resolved, direct, ...addresses] = await Promise.all([
    resolver.resolve(zone, 'NS'),
    resolver.resolveAuthoritative(zone, 'NS'),
    ...names.flatMap((name) => [resolver.resolve(name, 'A'), resolver.resolve(name, 'AAAA')]),
  ])
  const ips = addresses.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
  const tcp = await Promise.all(
    ips.map(async (ip) => ({ ip, why: await dial({ ip, port: 53, timeoutMs: TIMEOUT }) })),
  )
  return { zone, names, resolved, direct, tcp }
}

/** Checks the DNS server; empty if there is none. */
export async function checkNameserver({
  resolver,
  host,
}: {
  resolver: Resolver
  host: SendingHost
}): Promise<Finding[]> {
  const facts = await queryNameserver(resolver, host)
  return facts === null ? [] : [evaluateNameserver(facts)]
}

/** Evaluates the delegation of the zone. */
export function evaluateNameserver({ zone, names, resolved, direct, tcp }: NameserverFacts): Finding {
  const about = { id: 'nameserver', title: `DNS server for ${zone}` }
  const publish = names.map((name) => `${zone}. NS ${name}.`).join(' and ')
  const reach =
    'Check that the daemon runs, nameserver.listen has the public address, and the firewall allows port 53 over UDP and TCP.'
  if (tcp.length === 0)
    return {
      ...about,
      status: 'failed',
      found: `${names.join(', ')} has no address, so no resolver finds the DNS server.`,
      advice: `Publish address records for it.`,
    }
  if (resolved.kind === 'absent')
    return {
      ...about,
      status: 'failed',
      found: `${zone} is not delegated to this server, so receivers don't find the DKIM keys in it.`,
      advice: `Publish this record in the zone above it: ${publish}`,
    }
  const missing = resolved.kind === 'found' ? names.filter((name) => !resolved.records.includes(name)) : []
  if (resolved.kind === 'found' && missing.length > 0)
    return {
      ...about,
      status: 'failed',
      found: `${zone} is delegated to ${resolved.records.join(', ')}, not to ${missing.join(', ')}.`,
      advice: `Publish this record in the zone above it: ${publish}. Set nameserver.names to the names of the DNS servers.`,
    }
  const note = [resolved, direct].find((answer) => answer.kind === 'failed')?.note
  if (note !== undefined)
    return { ...about, status: 'failed', found: `The DNS server doesn't answer: ${note}.`, advice: reach }
  const closed = tcp.filter(({ why }) => why !== null)
  if (closed.length > 0)
    return {
      ...about,
      status: 'failed',
      found: `Port 53 is not reachable over TCP: ${closed.map(({ ip, why }) => `${ip} ${why!}`).join('; ')}. Long answers need it.`,
      advice: reach,
    }
  return {
    ...about,
    status: 'ok',
    found: 'The zone is delegated to this server, which answers over UDP and TCP.',
    advice: null,
  }
}
