import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Resolver } from '../../../../appliance/dns/dns.ts'
import { openSqlite } from '../../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../../appliance/watch/log.ts'
import { createGuardedFetch, type GuardedFetch } from '../../../../appliance/wire/fetch.ts'
import { parseNetworks } from '../../../../appliance/wire/networks.ts'
import type { TestClock } from '../../../world/clock.ts'
import { tlsFile } from '../../../world/tls.ts'
import { createTlsPolicies, type TlsPolicies } from '../../../../appliance/delivery/delivery.ts'

/** The policy host's response; null closes the connection. */
export interface PolicyAnswer {
  status?: number
  type?: string
  body: string
  location?: string
}

/** Starts an HTTPS server with a certificate of the test authority for *.trusted.test. Counts its requests. */
export async function startPolicyHost() {
  const state = { answer: null as PolicyAnswer | null, asked: [] as string[], posted: [] as Buffer[] }
  const server = createServer(
    { key: tlsFile('trusted.key'), cert: tlsFile('trusted.pem') },
    (request, response) => {
      state.asked.push(`${request.method} ${request.headers.host?.split(':')[0]} ${request.url}`)
      const { answer } = state
      if (!answer) return void request.socket.destroy()
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (request.method === 'POST') state.posted.push(Buffer.concat(chunks))
        const { status = 200, type = 'text/plain', body, location } = answer
        response.writeHead(status, { 'content-type': type, ...(location ? { location } : {}) }).end(body)
      })
    },
  )
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { state, port, close: () => new Promise((resolve) => server.close(resolve)) }
}

/** Returns a fetch function that trusts the test authority and may connect to loopback. */
export function testFetch(resolver: Resolver, clock: TestClock): GuardedFetch {
  const lookup = async (name: string): Promise<string[]> => {
    const answer = await resolver.resolve(name, 'A')
    return answer.kind === 'found' ? answer.records : []
  }
  const allowNetworks = parseNetworks(['127.0.0.0/8'])
  return createGuardedFetch({
    lookup,
    clock,
    allowNetworks,
    ownAddresses: () => [],
    deadlineMs: 5000,
    agent: 'test',
    ca: tlsFile('ca.pem'),
  })
}

/** Opens a storage in a temporary folder. */
export async function openTestStorage(): Promise<{ storage: Storage; close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthaste-policy-'))
  const storage = await openSqlite({ dataDir })
  return {
    storage,
    async close() {
      await storage.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Returns policies on real storage. */
export function testPolicies(
  { resolver, clock, storage }: { resolver: Resolver; clock: TestClock; storage: Storage },
  options: { trustAd?: boolean; port?: number; stsPort?: number } = {},
): TlsPolicies {
  const { trustAd = false, port = 25, stsPort } = options
  const fetch = testFetch(resolver, clock)
  return createTlsPolicies({
    resolver,
    storage,
    fetch,
    clock,
    log: createSilentLogger(),
    options: { trustAd, port, stsPort },
  })
}
