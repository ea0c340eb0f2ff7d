/**
 * Measures how fast a file of contacts is imported, and how long lists, searches and counts of contacts take. Asserts
 * nothing.
 * usage: ./scripts/bench audience [--contacts N] [--rounds N] [--data DIR]
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Audience, createAudience, createPreferencesTokens } from '../../appliance/audience/audience.ts'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { Rules } from '../../appliance/mail/rules.ts'
import { openSqlite } from '../../appliance/storage/sqlite/sqlite.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { quantile } from './measured.ts'

const { values } = parseArgs({
  options: {
    contacts: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '40' },
    /** Folder in which the imported data is kept, and existing data is reused. */
    data: { type: 'string' },
  },
})
const CONTACTS = Number(values.contacts)
const ROUNDS = Number(values.rounds)
const POLL_MS = 100

const dataDir = values.data ?? mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
mkdirSync(dataDir, { recursive: true })
const known = existsSync(join(dataDir, 'posthaste.db'))
const storage = await openSqlite({ dataDir })
const imports = { folder: join(dataDir, 'imports'), hasRoom: () => Promise.resolve(true), calls: () => 0 }
const tokens = createPreferencesTokens(new Uint8Array(32))
const audience = createAudience({
  storage,
  clock,
  tokens,
  imports: { ...imports, log: createSilentLogger() },
})
async function teamOf(): Promise<string> {
  const now = clock.now()
  const [found] = await storage.listTeams({}, now)
  if (found) return found.id
  const id = newId(now)
  const user = { id: newId(now), email: 'owner@bench.example', passwordHash: null, provenAt: null }
  await storage.createOwner(
    { team: { id, name: 'Bench', createdAt: now }, user: { ...user, createdAt: now } },
    now,
  )
  return id
}

const rowOf = (n: number): string =>
  `user${n}@customer${n % 5000}.example,First${n % 1000},Last${n % 7000},${n % 20 === 0 ? 'pro' : 'free'},${n % 100}`

async function measureImport(): Promise<void> {
  const upload = await audience.receiveImport()
  await upload.write(Buffer.from('email,first_name,last_name,plan,score\n'))
  for (let from = 0; from < CONTACTS; from += 10_000) {
    const count = Math.min(10_000, CONTACTS - from)
    await upload.write(
      Buffer.from(`${Array.from({ length: count }, (_, n) => rowOf(from + n)).join('\n')}\n`),
    )
  }
  const properties = [
    { key: 'plan', column: 'plan', type: 'string' as const },
    { key: 'score', column: 'score', type: 'number' as const },
  ]
  const names = { email: 'email', firstName: 'first_name', lastName: 'last_name', unsubscribed: null }
  const map = { ...names, properties }
  const input = { map, onConflict: 'upsert' as const, segmentIds: [], topics: [], consent: '', by: '' }
  const { id } = await audience.createImport({ teamId, source: null, fileName: 'bench.csv', upload, input })
  const [before, began] = [process.cpuUsage(), performance.now()]
  audience.start()
  while ((await audience.getImport({ teamId, id })).status !== 'completed') await setTimeout(POLL_MS)
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(before)
  const processor = (user + system) / 1e6
  console.log(
    `import: ${CONTACTS} rows in ${seconds.toFixed(1)} s, ${(CONTACTS / seconds).toFixed(0)} rows/s; ` +
      `${processor.toFixed(1)} s of processor time, ${(CONTACTS / processor).toFixed(0)} rows per processor second; load ${loadavg()[0]!.toFixed(1)}`,
  )
}

const rule = (field: string, operator: 'eq' | 'gte' | 'contains', value: string | number): Rules => ({
  type: 'rule',
  field: `contact.${field}`,
  operator,
  value,
})

/** Queries of the dashboard and apps, one request each. */
async function questions(): Promise<[string, () => Promise<unknown>][]> {
  const filter = rule('properties.plan', 'eq', 'pro')
  const segment = await audience.createSegment({ teamId, name: `Pro ${newId(clock.now())}`, filter })
  const middle = await audience.searchContacts({ teamId, text: `user${CONTACTS >> 1}@customer`, limit: 1 })
  const after = middle.next ?? undefined
  const search = (more: Omit<Parameters<Audience['searchContacts']>[0], 'teamId' | 'limit'>) => () =>
    audience.searchContacts({ teamId, limit: 50, ...more })
  const count = (rules: Rules) => () => audience.countMatching({ teamId, conditions: { rules } })
  return [
    ['list, newest 100', () => audience.listContacts({ teamId, limit: 100 })],
    ['list, 100 in the middle', () => audience.listContacts({ teamId, limit: 100, after })],
    ['search without conditions', search({})],
    ['search: a common word', search({ text: 'first7' })],
    ['search: a word that nothing has', search({ text: 'zebra' })],
    ['search: the whole address of the oldest', search({ text: 'user0@customer0.example' })],
    ['search: unsubscribed', search({ unsubscribed: true })],
    ['search: suppressed', search({ suppressed: true })],
    ['search: segment with rules', search({ segmentId: segment.id })],
    ['counts of all', () => audience.countContacts({ teamId })],
    ['list of segments', () => audience.listSegments({ teamId })],
    ['segment with rules', () => audience.getSegment({ teamId, id: segment.id })],
    [
      'contacts of a segment with rules',
      () => audience.listContacts({ teamId, segmentId: segment.id, limit: 100 }),
    ],
    ['count: text', count(rule('email', 'contains', 'customer77.'))],
    ['count: property', count(filter)],
    ['count: number', count(rule('properties.score', 'gte', 90))],
    ['count: time', count(rule('created_at', 'gte', '30 days ago'))],
  ]
}

/** Runs a query. Returns the elapsed time and the CPU time, in milliseconds. */
async function timed(ask: () => Promise<unknown>): Promise<{ wall: number; processor: number }> {
  const [before, began] = [process.cpuUsage(), performance.now()]
  await ask()
  const { user, system } = process.cpuUsage(before)
  return { wall: performance.now() - began, processor: (user + system) / 1000 }
}

async function measurePages(): Promise<void> {
  console.log(`\none request (${ROUNDS} rounds)                     p50       p95       processor p95`)
  for (const [name, ask] of await questions()) {
    await ask()
    const all: Awaited<ReturnType<typeof timed>>[] = []
    for (let round = 0; round < ROUNDS; round++) all.push(await timed(ask))
    const ms = (of: 'wall' | 'processor', p: number) =>
      `${quantile(
        all.map((one) => one[of]),
        p,
      ).toFixed(1)} ms`.padEnd(10)
    console.log(name.padEnd(44) + ms('wall', 0.5) + ms('wall', 0.95) + ms('processor', 0.95))
  }
  console.log(`load ${loadavg()[0]!.toFixed(1)}`)
}

const teamId = await teamOf()
if (!known) await measureImport()
await measurePages()
await audience.close()
await storage.close()
if (values.data === undefined) rmSync(dataDir, { recursive: true })
