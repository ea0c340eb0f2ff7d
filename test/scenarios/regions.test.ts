import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FailoverPreview, RegionList } from '../../appliance/api/regions.ts'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import type { Config } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { publishAndVerify, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { openDatabaseLine, type DatabaseLine } from '../world/database-line.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/**
 * Daemons in two regions on one PostgreSQL database. The ones in Europe lose the database, which is what other nodes see
 * of a machine that is gone.
 */

let cluster: Cluster
let world: World
let folder: string
let home: TestAppliance
const lines: DatabaseLine[] = []
const daemons: RunningDaemon[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-regions-'))
  ;[cluster, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: { 'good.test': { mx: [{ preference: 10, host: 'mx.good.test' }] } } }),
  ])
  const url = await cluster.createDatabase()
  home = await startAppliance({
    world,
    config: {
      storage: { engine: 'postgres', url },
      region: 'us-east-1',
      delivery: { source_ips: ['127.0.0.8'] },
    } as Partial<Config>,
    pollMs: 200,
  })
})

afterAll(async () => {
  for (const daemon of daemons) await daemon.stop()
  await home?.close()
  for (const line of lines) await line.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Starts a node in another region, whose connection to the database can be cut. */
async function startNode(region: string, ip: string, target?: string): Promise<DatabaseLine> {
  const { config } = home
  const line = await openDatabaseLine(
    (config.storage as { url: string }).url,
    await mkdtemp(join(folder, 'l-')),
  )
  lines.push(line)
  const failover = { after_seconds: 16, ...(target === undefined ? {} : { region: target }) }
  const daemon = await compose(
    {
      ...config,
      region,
      failover,
      data_dir: join(folder, region),
      secrets: { ...config.secrets, master_key_file: join(config.data_dir, 'master.key') },
      storage: { ...config.storage, url: line.url },
      delivery: { ...config.delivery, source_ips: [ip] },
    },
    {
      log: createSilentLogger(),
      clock: world.clock,
      resolver: { authoritativePort: world.authoritativePort },
      pollMs: 200,
    },
  )
  daemons.push(daemon)
  const pool = region.slice(0, 2)
  await call('PATCH', `/sources/${ip}`, { pool })
  await call('PATCH', `/sources/pools/${pool}`, { region })
  return line
}

/** Calls the API of the home node with the key of the team. */
async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${home.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${home.apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect([path, response.ok]).toEqual([path, true])
  return (await response.json()) as T
}

const send = async (from: string, subject: string): Promise<string> =>
  (await call<{ id: string }>('POST', '/emails', { from, to: 'ada@good.test', subject, text: 'Hi' })).id

const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

/** The subjects that the exchanger received, with the IPs they came from. */
const arrived = (): string[] =>
  world
    .mailboxOf('mx.good.test')
    .map(({ raw, session }) => `${/^Subject: (.*)\r$/m.exec(raw.toString())![1]!} ${session.clientAddress}`)

const regionNamed = async (name: string) =>
  (await call<Static<typeof RegionList>>('GET', '/regions')).data.find((one) => one.name === name)!

const poolOf = async (id: string): Promise<string> =>
  (await call<{ data: { pool: string }[] }>('GET', `/queue?email_id=${id}`)).data[0]!.pool

/** The series of the metrics of the home node, without their prefix. */
async function metrics(): Promise<string[]> {
  const headers = { authorization: `Bearer ${home.apiKey}` }
  const text = await (await fetch(`${home.url}/metrics`, { headers })).text()
  return text.split('\n').map((line) => line.replace(/^posthaste_/, ''))
}

/** Adds a verified domain in a region. */
async function addDomain(name: string, region: string): Promise<void> {
  await call('POST', '/domains', { name, region })
  await publishAndVerify(home.appliance, world, home.teamId, name)
}

test('mail leaves from the region of its domain, and from another one when the region is lost, if its nodes ask for it', async () => {
  await call('PATCH', '/sources/pools/default', { region: 'us-east-1' })
  const tokyo = await startNode('ap-northeast-1', '127.0.0.10')
  const europe = await startNode('eu-west-1', '127.0.0.9', 'us-east-1')
  await addDomain('europe.test', 'eu-west-1')
  await addDomain('tokyo.test', 'ap-northeast-1')
  // The regions of pools are remembered for a second at most.
  const isSent = (from: string, subject: string, ip: string) =>
    eventually(async () => {
      await send(from, subject)
      return arrived()
    }).toContain(`${subject} ${ip}`)
  await isSent('a@sender.test', 'America', '127.0.0.8')
  await isSent('a@europe.test', 'Europe', '127.0.0.9')
  await isSent('a@tokyo.test', 'Tokyo', '127.0.0.10')

  const preview = await call<FailoverPreview>('GET', '/regions/eu-west-1/failover')
  expect(preview).toMatchObject({ to: 'us-east-1', pool: 'default', ips: ['127.0.0.8'], total: 1 })
  expect(preview.domains).toMatchObject([{ name: 'europe.test', covered: true }])

  // `isSent` sends several times, and a node whose results weren't stored before it is lost would send again.
  const isSettled = (pool: string, region: string): string[] =>
    ['waiting', 'in_flight'].map(
      (state) => `pool_deliveries{pool="${pool}",region="${region}",state="${state}"} 0`,
    )
  await eventually(metrics).toEqual(
    expect.arrayContaining([...isSettled('ap', 'ap-northeast-1'), ...isSettled('eu', 'eu-west-1')]),
  )
  // Cut Tokyo first: once Europe's delay has passed, Tokyo's has passed, too, and Tokyo must still not fail over.
  await tokyo.cut()
  await europe.cut()
  const patient = await send('a@tokyo.test', 'Patient')
  await send('a@europe.test', 'Moved')
  await eventually(async () => (await regionNamed('eu-west-1')).failed_over?.region).toBe('us-east-1')
  await eventually(arrived).toContain('Moved 127.0.0.8')
  await isSent('a@europe.test', 'During', '127.0.0.8')
  expect((await regionNamed('ap-northeast-1')).failed_over).toBeNull()
  expect(await poolOf(patient)).toBe('ap')
  await eventually(metrics).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^node_source_active\{.*region="ap-northeast-1",source="127.0.0.10",pool="ap"\} 0$/,
      ),
      expect.stringMatching(
        /^node_source_active\{.*region="us-east-1",source="127.0.0.8",pool="default"\} 1$/,
      ),
      'pool_deliveries{pool="ap",region="ap-northeast-1",state="waiting"} 1',
    ]),
  )
  const entries = await call<{ data: { sentence: string }[] }>('GET', '/audit?action=region.fail_over')
  expect(entries.data.map(({ sentence }) => sentence)).toEqual([
    expect.stringMatching(/^Posthaste moved the mail of the region eu-west-1 to us-east-1: \d+ deliver/),
  ])

  await europe.mend()
  await eventually(async () => (await regionNamed('eu-west-1')).failed_over).toBeNull()
  await isSent('a@europe.test', 'Back', '127.0.0.9')
  await tokyo.mend()
  await eventually(arrived).toContain('Patient 127.0.0.10')
})
