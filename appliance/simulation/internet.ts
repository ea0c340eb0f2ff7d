/** DNS and the addresses of the receivers in a simulation. */
import type { Answer, RecordType, Resolver } from '../dns/dns.ts'
import type { Receiver } from '../mail/receiver.ts'
import type { Source } from '../mail/source.ts'
import { determineProvider, type ProviderTable } from '../shaping/shaping.ts'
import { parseNetworks, type Cidr } from '../wire/networks.ts'
import { listReceiverDomains } from './recipients.ts'
import { Server } from './server.ts'

export interface SimulatedInternet {
  resolver: Pick<Resolver, 'resolve'>
  /** The networks of all receivers. */
  networks: readonly Cidr[]
  /** Returns the receiver at an IP. */
  serverAt(ip: string): Server
  /** Returns a receiver's server, and the ID of the provider that Posthaste recognizes it as. */
  of(receiver: Receiver): { server: Server; provider: string }
}

/** Addresses that are reserved for benchmarks, so nobody uses them. */
const NETWORKS = ['198.18.0.0/15']

/** Creates the receivers with their names and IPs. */
export function createSimulatedInternet(
  receivers: readonly Receiver[],
  { sources, providers }: { sources: readonly Source[]; providers: ProviderTable },
): SimulatedInternet {
  const since = new Map(sources.map(({ ip, warmUpSince }) => [ip, warmUpSince]))
  const records = new Map<string, { mx: string[] } | { a: string }>()
  const byIp = new Map<string, Server>()
  const known = new Map<string, { server: Server; provider: string }>()
  let number = 1
  for (const receiver of receivers) {
    const server = new Server(receiver, (ip) => since.get(ip) ?? null)
    const hosts = receiver.mx.map((exchange, preference) => ({ preference, exchange }))
    known.set(receiver.id, { server, provider: determineProvider(hosts, providers) })
    for (const name of receiver.mx) {
      const ip = `198.18.${number >> 8}.${number & 255}`
      number += 1
      records.set(name, { a: ip })
      byIp.set(ip, server)
    }
    for (const domain of listReceiverDomains(receiver)) records.set(domain, { mx: receiver.mx })
  }
  return {
    resolver: { resolve: (name, type) => Promise.resolve(answer(records.get(name), type)) },
    networks: parseNetworks(NETWORKS),
    serverAt: (ip) => byIp.get(ip)!,
    of: ({ id }) => known.get(id)!,
  }
}

function answer<T extends RecordType>(
  record: { mx: string[] } | { a: string } | undefined,
  type: T,
): Answer<T> {
  const found = { kind: 'found', ttl: 3600, authentic: false } as const
  if (record && 'mx' in record && type === 'MX') {
    const records = record.mx.map((exchange, at) => ({ preference: 10 * (at + 1), exchange }))
    return { ...found, records } as unknown as Answer<T> // of type MX
  }
  if (record && 'a' in record && type === 'A')
    return { ...found, records: [record.a] } as unknown as Answer<T>
  return { kind: 'absent', why: record ? 'nodata' : 'nxdomain', ttl: 3600, authentic: false }
}
