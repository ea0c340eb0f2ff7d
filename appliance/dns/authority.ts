import type { DnsClient } from './client.ts'
import type { Answer, RecordType, AuthorityAnswers } from './dns.ts'
import { MAX_CNAME_LINKS, canonicalizeName } from './interpret.ts'
import { createServer, type Server } from './servers.ts'

/**
 * Queries the authoritative servers of a name directly, for operators who have just changed a record and must not see
 * cached answers.
 */

/** Maximum number of name servers of a zone to query, and of addresses of each. */
const MAX_HOSTS = 6
const MAX_ADDRESSES = 2
/** Time limit for one server of a survey with all its addresses, in milliseconds. Someone is waiting for the page. */
const SURVEY_MS = 5000

/** How to find and reach the authoritative servers. */
export interface AuthorityOptions {
  client: DnsClient
  /** The recursive servers used to find the authoritative ones. */
  servers: Server[]
  port: number
  /**
   * Addresses never to contact. The owner of a zone chooses its NS addresses, and could otherwise point us into the
   * internal network.
   */
  isForbidden: (ip: string) => boolean
}

interface Zone {
  apex: string
  hosts: string[]
}

/** Finds the name's zone and queries its servers directly, in turn. Follows aliases into other zones. Never rejects. */
export async function queryAuthorities<T extends RecordType>(
  options: AuthorityOptions,
  name: string,
  type: T,
): Promise<Answer<T>> {
  const seen = new Set<string>()
  let target = canonicalizeName(name)
  let ttl = Number.MAX_SAFE_INTEGER
  while (!seen.has(target) && seen.size <= MAX_CNAME_LINKS) {
    seen.add(target)
    const zone = await findZone(options, target)
    if ('note' in zone) return { kind: 'failed', note: zone.note }
    const reading = await askZone(options, zone, target, type)
    if (reading.kind === 'failed') return reading
    ttl = Math.min(ttl, reading.ttl)
    // AD from a server that does not validate says nothing (RFC 4035 §3.1.6).
    if (reading.kind !== 'alias') return { ...reading, ttl, authentic: false }
    target = reading.target
  }
  return { kind: 'failed', note: `The CNAME records of ${name} form a loop or a chain that is too long` }
}

/** Queries every server of the name's zone separately, all at once, and follows an alias from each. Never rejects. */
export async function queryEachAuthority<T extends RecordType>(
  options: AuthorityOptions,
  name: string,
  type: T,
): Promise<AuthorityAnswers<T>> {
  const asked = canonicalizeName(name)
  const zone = await findZone(options, asked)
  if ('note' in zone) return { kind: 'failed', note: zone.note }
  const servers = await Promise.all(
    zone.hosts
      .slice(0, MAX_HOSTS)
      .map(async (host) => ({ host, answer: await askHost(options, host, asked, type) })),
  )
  return { kind: 'asked', zone: zone.apex, servers }
}

async function askHost<T extends RecordType>(
  options: AuthorityOptions,
  host: string,
  name: string,
  type: T,
): Promise<Answer<T>> {
  const { client } = options
  const { servers, notes } = await findAddresses(options, host)
  if (servers.length === 0) return { kind: 'failed', note: notes.join('; ') }
  const deadline = performance.now() + SURVEY_MS
  const reading = await client.ask(servers, { name, type }, { recursion: false, rounds: 1, deadline })
  if (reading.kind === 'failed') return reading
  return reading.kind === 'alias'
    ? queryAuthorities(options, reading.target, type)
    : { ...reading, authentic: false }
}

/** Walks up from the name to the first ancestor that has NS records. */
async function findZone(options: AuthorityOptions, name: string): Promise<Zone | { note: string }> {
  let note = `No name servers are published for ${name} or a domain above it`
  for (let apex = name; apex !== ''; apex = apex.replace(/^[^.]*\.?/, '')) {
    // Don't follow aliases: the zone of an alias is that of its owner name.
    const question = { name: apex, type: 'NS' } as const
    const reading = await options.client.ask(options.servers, question, { recursion: true })
    if (reading.kind === 'found') return { apex, hosts: reading.records }
    if (reading.kind === 'failed') note = reading.note
  }
  return { note }
}

async function askZone<T extends RecordType>(
  options: AuthorityOptions,
  zone: Zone,
  name: string,
  type: T,
): Promise<Awaited<ReturnType<typeof DnsClient.prototype.ask<T>>>> {
  const notes: string[] = []
  for (const host of zone.hosts.slice(0, MAX_HOSTS)) {
    const found = await findAddresses(options, host)
    notes.push(...found.notes)
    if (found.servers.length === 0) continue
    const reading = await options.client.ask(found.servers, { name, type }, { recursion: false, rounds: 1 })
    if (reading.kind !== 'failed') return reading
    notes.push(`${host}: ${reading.note}`)
  }
  const why = notes.join('; ')
  return { kind: 'failed', note: `None of the name servers of ${zone.apex} could be queried: ${why}` }
}

async function findAddresses(
  options: AuthorityOptions,
  host: string,
): Promise<{ servers: Server[]; notes: string[] }> {
  const { client, servers } = options
  const answers = await Promise.all([client.lookup(servers, host, 'A'), client.lookup(servers, host, 'AAAA')])
  const notes = answers.flatMap((answer) => (answer.kind === 'failed' ? [answer.note] : []))
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
  if (addresses.length === 0 && notes.length === 0) notes.push(`${host} has no address`)
  const allowed = addresses.filter((ip) => {
    if (!options.isForbidden(ip)) return true
    notes.push(`${host} has the address ${ip}, which is not allowed`)
    return false
  })
  return { servers: allowed.slice(0, MAX_ADDRESSES).map((ip) => createServer(ip, options.port)), notes }
}
