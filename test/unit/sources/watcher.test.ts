import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Source } from '../../../appliance/mail/source.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { makeTeam, newDomain } from '../../contract/fixtures.ts'
import { createTestClock } from '../../world/clock.ts'
import { list, startNames, type Names } from '../insights/fixtures.ts'
import { PATIENCE } from '../../world/patience.ts'
import {
  createSourceRegistry,
  type SourceRegistry,
  createSourceWatcher,
  type SourceWatcher,
} from '../../../appliance/sources/sources.ts'

const HELO = 'mail.acme.example'
const folder = mkdtempSync(join(tmpdir(), 'posthaste-watcher-'))
const clock = createTestClock()
const gone = new Set<string>()
let names: Names
let storage: Storage
let book: SourceRegistry
let watcher: SourceWatcher
let changes = 0

beforeAll(async () => {
  names = await startNames({
    [HELO]: { A: ['192.0.2.1', '192.0.2.2'] },
    '1.2.0.192.in-addr.arpa': { PTR: HELO },
    '2.2.0.192.in-addr.arpa': { PTR: HELO },
    '2.0.0.127.bl.test': { A: '127.0.0.2' },
  })
  storage = await openSqlite({ dataDir: folder })
  const configured = ['192.0.2.1', '192.0.2.2']
  book = createSourceRegistry({ storage, nodeId: 'here', clock, hostname: HELO, configured, warmUp: false })
  await book.reconcile()
  watcher = createSourceWatcher({
    storage,
    book,
    clock,
    log: createSilentLogger(),
    random: () => 0.5,
    pollMs: 60_000,
    look: () => ({
      // Each check uses a new resolver, because caching isn't tested here.
      resolver: { resolve: (name, type) => names.fresh().resolve(name, type) },
      blocklists: [list],
      hostname: HELO,
      local: () => [],
      isPublic: () => true,
      probe: (ip) => Promise.resolve(gone.has(ip) ? `${ip} is not an address of this machine` : null),
    }),
    onChange: () => void changes++,
  })
  watcher.start()
})
afterAll(async () => {
  await watcher.stop()
  await names.close()
  await storage.close()
  rmSync(folder, { recursive: true, force: true })
})

const states = async () =>
  (await book.list()).map(({ ip, state, stateReason, suspendedBy }) => [ip, state, suspendedBy, stateReason])

/** Waits until the book satisfies `enough`. On timeout, fails with its actual state. */
async function until(enough: (sources: Source[]) => boolean): Promise<void> {
  const end = Date.now() + PATIENCE
  while (!enough(await book.list())) {
    if (Date.now() > end) throw new Error(JSON.stringify(await book.list(), null, 1))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
/** Advances time. Waits until both sources have been checked. */
async function later(ms: number): Promise<void> {
  await clock.advance(ms)
  const since = clock.now() - 1000
  await until((sources) => sources.every(({ checkedAt }) => checkedAt !== null && checkedAt >= since))
}
const active = (ip: string) => [ip, 'active', null, null]

test('sending IPs are checked at startup, and the results are stored', async () => {
  await until((sources) => sources.every(({ checkedAt }) => checkedAt !== null))
  expect(await states()).toEqual([active('192.0.2.1'), active('192.0.2.2')])
  const [first] = await book.list()
  expect(first!.health!.findings.map(({ id, status }) => `${status} ${id}`)).toEqual([
    'ok here:192.0.2.1',
    'ok ptr:192.0.2.1',
    'ok blocklist:bl.test:192.0.2.1',
  ])
  expect(changes).toBe(0)
})

test('a listed IP is suspended within the hour, and resumed soon after the listing ends', async () => {
  names.dns.set('2.2.0.192.bl.test', { A: '127.0.0.2' })
  await later(3_600_000)
  const reason = 'Test list lists 192.0.2.2: sent spam (127.0.0.2).'
  expect(await states()).toEqual([active('192.0.2.1'), ['192.0.2.2', 'suspended', 'check', reason]])
  expect(changes).toBe(1)
  names.dns.set('2.2.0.192.bl.test', undefined)
  await clock.advance(900_000)
  await until((sources) => sources.every(({ state }) => state === 'active'))
  expect(changes).toBe(2)
})

test('only one of two listed IPs is suspended', async () => {
  names.dns.set('1.2.0.192.bl.test', { A: '127.0.0.2' })
  names.dns.set('2.2.0.192.bl.test', { A: '127.0.0.2' })
  await later(3_600_000)
  expect((await states()).map(([, state]) => state).sort()).toEqual(['active', 'suspended'])
  names.dns.set('1.2.0.192.bl.test', undefined)
  names.dns.set('2.2.0.192.bl.test', undefined)
  await clock.advance(900_000)
  await until((sources) => sources.every(({ state }) => state === 'active'))
})

test('suspends an IP whose address is gone; an IP suspended by an operator stays suspended', async () => {
  gone.add('192.0.2.1')
  await book.change('192.0.2.2', { suspended: true })
  await later(3_600_000)
  expect(await states()).toEqual([
    ['192.0.2.1', 'suspended', 'check', '192.0.2.1 is not an address of this machine.'],
    ['192.0.2.2', 'suspended', 'operator', 'An operator suspended it.'],
  ])
  gone.clear()
  await clock.advance(900_000)
  await until(([first]) => first!.state === 'active')
  expect((await states())[1]![2]).toBe('operator')
})

test('SPF includes added IPs, and a new IP is checked within a minute', async () => {
  expect(book.host.sourceIps).toEqual(['192.0.2.1', '192.0.2.2'])
  await book.add({ ip: '192.0.2.3', pool: 'news' })
  expect(book.host.sourceIps).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  await clock.advance(60_000)
  await until((sources) => sources.find(({ ip }) => ip === '192.0.2.3')!.checkedAt !== null)
  await book.remove('192.0.2.3')
  expect(book.host.sourceIps).toEqual(['192.0.2.1', '192.0.2.2'])
})

test('domains of all teams are checked, and those of other teams are reported', async () => {
  const ip = '2001:db8::7'
  names.dns.set(HELO, { A: ['192.0.2.1', '192.0.2.2'], AAAA: [ip] })
  names.dns.set(`7${'.0'.repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`, { PTR: HELO })
  names.dns.set('send.ours.example', { TXT: [`v=spf1 ip6:${ip} -all`] })
  names.dns.set('send.theirs.example', { TXT: ['v=spf1 -all'] })
  const [first, second] = [await makeTeam(storage, 1), await makeTeam(storage, 2)]
  for (const [{ team }, name] of [
    [first, 'ours.example'],
    [second, 'theirs.example'],
  ] as const) {
    const domain = newDomain(team.id, name)
    await storage.createDomain(domain, clock.now())
    const check = { teamId: team.id, id: domain.domain.id, status: 'verified' as const, checks: [] }
    await storage.saveDomainCheck(check, clock.now())
  }
  await book.add({ ip })
  await later(3_600_000)
  const added = (await book.list()).find((one) => one.ip === ip)!
  expect(added).toMatchObject({ state: 'active', health: { ipv6: true } })
  expect(added.health!.findings.map(({ id, status }) => `${status} ${id}`)).toEqual([
    `ok here:${ip}`,
    `ok ptr:${ip}`,
    `ok blocklist:bl.test:${ip}`,
    `ok spf:${ip}:send.ours.example`,
    `warning other-team:spf:${ip}:send.theirs.example`,
  ])
  await book.remove(ip)
})
