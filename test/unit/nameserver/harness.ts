import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import * as codec from 'dns-packet'
import {
  buildZone,
  createNameserver,
  type Nameserver,
  type QueryResult,
  type ZoneRecord,
} from '../../../appliance/nameserver/nameserver.ts'
import { parseHostPort } from '../../../appliance/wire/listeners.ts'
import { freeAddress } from '../../world/addresses.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createTestClock } from '../../world/clock.ts'

export const APEX = 'dns.mail.example.com'
/** Longer than one character-string, as the record of an RSA key. */
export const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(492)}`

const RECORDS: ZoneRecord[] = [
  { name: `posthaste1.acme.${APEX}`, type: 'TXT', value: KEY },
  { name: `short.acme.${APEX}`, type: 'TXT', value: 'v=DKIM1; p=' },
  { name: `alias.acme.${APEX}`, type: 'CNAME', value: 'mail.example.com' },
]
const DELEGATED: ZoneRecord[] = [
  { name: 'send.acme.test', type: 'MX', value: 'mail.example.com', priority: 10 },
  { name: 'send.acme.test', type: 'TXT', value: 'v=spf1 ip4:192.0.2.1 ~all' },
]

/** A DNS server with two zones, and the results that it has counted. */
export interface TestServer {
  ip: string
  port: number
  clock: ReturnType<typeof createTestClock>
  counted: QueryResult[]
  nameserver: Nameserver
}

export async function startServer(connections = 100): Promise<TestServer> {
  const clock = createTestClock()
  const about = { serial: 7, nameServers: ['mail.example.com'], contact: 'postmaster.mail.example.com' }
  const zones = new Map(
    [
      { apex: APEX, records: RECORDS, ...about },
      { apex: 'send.acme.test', records: DELEGATED, ...about },
    ].map((data) => [data.apex, buildZone(data)]),
  )
  const counted: QueryResult[] = []
  const dns = { total: connections, perAddress: connections, perStranger: connections }
  const nameserver = createNameserver({
    zones: () => zones,
    clock,
    connections: testCapacity(clock, tmpdir(), { dns }).dns!,
    secret: Buffer.alloc(32, 1),
    count: (_transport, result) => void counted.push(result),
  })
  const [address] = await nameserver.listen([`${freeAddress()}:0`])
  const { host: ip, port } = parseHostPort(address!)
  return { ip, port, clock, counted, nameserver }
}

/** Encodes a query. `options` overrides fields of the packet. */
export function query(name: string, type: codec.RecordType | 'ANY', options: object = {}): Buffer {
  const questions = [{ name, type: type as codec.RecordType, class: 'IN' as const }]
  return codec.encode({ type: 'query', id: 4711, flags: 0, questions, ...options })
}

/** The EDNS record of a query. */
export const edns = (payload = 1232, more: object = {}) => ({
  additionals: [
    {
      type: 'OPT',
      name: '.',
      udpPayloadSize: payload,
      extendedRcode: 0,
      ednsVersion: 0,
      flags: 0,
      flag_do: false,
      options: [],
      ...more,
    },
  ],
})

/** Sends packets from one socket and returns as many responses as there are packets that get one. */
export async function askUdp(
  { ip, port }: TestServer,
  packets: Buffer[],
  expected = packets.length,
): Promise<Buffer[]> {
  const socket = createSocket('udp4')
  const responses: Buffer[] = []
  const done = new Promise<void>((resolve) => {
    socket.on('message', (bytes) => {
      responses.push(bytes)
      if (responses.length === expected) resolve()
    })
  })
  for (const packet of packets) socket.send(packet, port, ip)
  await done
  socket.close()
  return responses
}

/** Sends bytes over one connection and returns what comes back until `count` messages are there or it is closed. */
export async function askTcp({ ip, port }: TestServer, bytes: Buffer, count: number): Promise<Buffer[]> {
  const socket = connect({ host: ip, port })
  let received = Buffer.alloc(0)
  const messages = (): Buffer[] => {
    const found: Buffer[] = []
    for (let at = 0; at + 2 <= received.length;) {
      const end = at + 2 + received.readUInt16BE(at)
      if (end > received.length) break
      found.push(received.subarray(at + 2, end))
      at = end
    }
    return found
  }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    if (messages().length >= count) socket.end()
  })
  socket.write(bytes)
  await once(socket, 'close')
  return messages()
}

/** Puts the length in front (RFC 1035 §4.2.2). */
export function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
