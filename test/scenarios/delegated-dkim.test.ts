import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccounts } from '../../appliance/accounts/accounts.ts'
import { DnsClient } from '../../appliance/dns/client.ts'
import { createResolver } from '../../appliance/dns/resolver.ts'
import { parseServer } from '../../appliance/dns/servers.ts'
import {
  createNameserver,
  createZoneCache,
  type Nameserver,
  type ZoneCache,
} from '../../appliance/nameserver/nameserver.ts'
import { RETRY_PERIOD } from '../../appliance/queue/schedule.ts'
import { createSenders, createZoneBuilder, type Senders } from '../../appliance/senders/senders.ts'
import { createSigner } from '../../appliance/signing/signing.ts'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import type { Domain, Storage } from '../../appliance/storage/storage.ts'
import { createMailauthResolver } from '../../appliance/verification/verification.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { freeAddress } from '../world/addresses.ts'
import { testCapacity } from '../world/capacity.ts'
import { createWorld, type World } from '../world/world.ts'

/** Years of mail of a domain that delegates its DKIM keys. A receiver caches what our own DNS server answers. */

const ZONE = 'dns.mail.sender.test'
const NAME = 'acme.test'
const HOUR = 3_600_000
const DAY = 24 * HOUR
const host = {
  hostname: 'mail.sender.test',
  sourceIps: ['192.0.2.1'],
  nameserver: { zone: ZONE, names: ['mail.sender.test'], rotateMs: 30 * DAY },
}

let world: World
let storage: Storage
let senders: Senders
let nameserver: Nameserver
let book: ZoneCache
let domain: Domain
let client: DnsClient
let internal: ReturnType<typeof createResolver>
let receiver: ReturnType<typeof createResolver>

beforeAll(async () => {
  world = await createWorld({ domains: {} })
  const { clock, dnsServers: servers, authoritativePort } = world
  storage = await openSqlite({ dataDir: mkdtempSync(join(tmpdir(), 'posthaste-delegated-')) })
  const read = async () => {
    const { selectors, zonesOf } = createZoneBuilder(host)
    const served = await storage.servedDomains({ selectors }, clock.now())
    const about = { nameServers: host.nameserver.names, contact: 'postmaster.mail.sender.test' }
    return zonesOf(served).map((zone) => ({ ...zone, ...about }))
  }
  const serialOf = (digest: string) => storage.zoneSerial({ digest }, clock.now())
  book = createZoneCache({ read, serialOf, clock, log: createSilentLogger() })
  const dns = { total: 50, perAddress: 50, perStranger: 50 }
  nameserver = createNameserver({
    zones: () => book.zones(),
    clock,
    connections: testCapacity(clock, tmpdir(), { dns }).dns!,
    secret: Buffer.alloc(32),
    perSecond: 1_000_000,
    count: () => undefined,
  })
  const [own] = await nameserver.listen([`${freeAddress()}:0`])
  client = new DnsClient({ timeoutMs: 5000 })
  internal = createResolver({ servers, clock, authoritativePort })
  receiver = createResolver({ servers, clock })
  senders = createSenders({ storage, resolver: internal, clock, config: host, pollMs: 4000 * DAY })
  const owner = { email: 'owner@sender.test', password: 'a long password', teamName: 'Test' }
  const { team } = await createAccounts({ storage, clock }).createOwner(owner)
  domain = await senders.addDomain({ teamId: team.id, name: NAME, settings: { delegation: 'cname' } })
  await book.refresh()
  await publishOnce([parseServer(own!)])
})

afterAll(async () => {
  await senders.close()
  for (const one of [internal, receiver, client]) one.close()
  await nameserver.close()
  await storage.close()
  await world.close()
})

/** Publishes what the owner has to publish, and leads all other queries to our DNS server. */
async function publishOnce(servers: ReturnType<typeof parseServer>[]): Promise<void> {
  const records = await senders.expectedRecords(domain)
  const names = new Set(records.map(({ fqdn }) => fqdn))
  expect(records.filter(({ record }) => record === 'DKIM').map(({ type }) => type)).toEqual(
    Array(4).fill('CNAME'),
  )
  world.dns.replace(async (name) => {
    if (name.endsWith(ZONE)) {
      const answer = await client.ask(servers, { name, type: 'TXT' }, { recursion: false })
      if (answer.kind === 'found') return { TXT: answer.records, ttl: answer.ttl }
      return answer.kind === 'absent' && answer.why === 'nodata' ? 'NODATA' : undefined
    }
    if (name === NAME) return {}
    const here = records.filter(({ fqdn }) => fqdn === name)
    const alias = here.find(({ type }) => type === 'CNAME')
    if (alias) return { CNAME: alias.value }
    return names.has(name)
      ? {
          TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
          MX: here
            .filter(({ type }) => type === 'MX')
            .map(({ value }) => ({ preference: 10, exchange: value })),
        }
      : undefined
  })
}

/** Moves time, lets all checks that are due end, and lets our DNS server see the result. */
async function advance(ms: number): Promise<void> {
  await world.clock.advance(ms)
  for (;;) {
    const next = await storage.nextDomainCheck({}, world.clock.now())
    if (next === undefined || next > world.clock.now()) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  await book.refresh()
}

const signer = createSigner()
let sent = 0

interface Mail {
  raw: Buffer
  verifyAt: number
}

/** Signs a message as a delivery attempt does. */
async function sign(): Promise<Buffer> {
  const now = world.clock.now()
  const text = `From: hello@${NAME}\r\nTo: ada@good.test\r\nSubject: ${++sent}\r\n\r\nHello\r\n`
  const keys = await storage.signingKeys({ domainId: domain.id }, now)
  expect(keys).not.toEqual([])
  const fields = await signer.sign(
    Buffer.from(text),
    keys.map((key) => ({ ...key, domain: NAME })),
    now,
  )
  return Buffer.concat([fields, Buffer.from(text)])
}

/** Verifies a message as a receiver does now. Returns the selectors; each must pass. */
async function verify(raw: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(raw, {
    resolver: createMailauthResolver(receiver),
    curTime: new Date(world.clock.now()),
  })
  expect(results.map(({ selector, status }) => `${selector} ${status.result}`)).toEqual(
    results.map(({ selector }) => `${selector} pass`),
  )
  return results.map(({ selector }) => String(selector))
}

/** A fixed sequence of numbers in [0, 1), so that a failure can be repeated. */
function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('a domain is verified by four CNAME records, and signs with both algorithms', async () => {
  const { teamId, id } = domain
  const verified = await senders.verifyDomain({ teamId, id })
  expect(verified.status).toBe('verified')
  expect((await verify(await sign())).toSorted()).toEqual(['posthaste-ed25519-1', 'posthaste1'])
})

test(
  'over two years of rotation, every message verifies until its queue lifetime ends',
  { timeout: 600_000 },
  async () => {
    senders.watch()
    const random = sequence(2026)
    const waiting: Mail[] = []
    const used: string[] = []
    const serials: number[] = []
    const end = world.clock.now() + 2 * 365 * DAY
    while (world.clock.now() < end || waiting.length > 0) {
      await advance(HOUR)
      const now = world.clock.now()
      if (now < end && random() < 0.06) {
        const raw = await sign()
        // Now, within the lifetime of a queued message, and at its end.
        for (const wait of [0, random() * RETRY_PERIOD, RETRY_PERIOD])
          waiting.push({ raw, verifyAt: now + wait })
      }
      const due = waiting.filter(({ verifyAt }) => verifyAt <= now)
      for (const mail of due) {
        waiting.splice(waiting.indexOf(mail), 1)
        for (const selector of await verify(mail.raw)) if (used.at(-1) !== selector) used.push(selector)
      }
      const soa = book.zones().get(ZONE)!.soa.data[0]!
      const serial = soa.readUInt32BE(soa.length - 20)
      if (serials.at(-1) !== serial) serials.push(serial)
    }
    expect(sent).toBeGreaterThan(800)
    expect(new Set(used)).toEqual(
      new Set(['posthaste1', 'posthaste2', 'posthaste-ed25519-1', 'posthaste-ed25519-2']),
    )
    // Each rotation publishes keys and withdraws the old ones a week after they signed last.
    expect(serials.length).toBeGreaterThan(2 * 20)
    expect(serials).toEqual(serials.toSorted((a, b) => a - b))
    expect((await storage.getDomain(domain, world.clock.now()))?.status).toBe('verified')
  },
)

test('a retired DKIM key is erased and published as revoked', async () => {
  const keys = (await storage.dkimKeys({ domainId: domain.id }, world.clock.now())).filter(
    ({ state }) => state === 'retired',
  )
  expect(keys.map(({ privateKey }) => privateKey.length)).toEqual(keys.map(() => 0))
  for (const { selector } of keys) {
    const answer = await receiver.resolve(`${selector}._domainkey.${NAME}`, 'TXT')
    expect(answer).toMatchObject({ records: [expect.stringMatching(/^v=DKIM1; k=\w+; p=$/)] })
  }
})
