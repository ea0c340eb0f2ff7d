import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NodeList } from '../../appliance/api/nodes.ts'
import type { Static } from 'typebox'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import type { Config } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { openDatabaseLine, type DatabaseLine } from '../world/database-line.ts'
import { PATIENCE } from '../world/patience.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** Two daemons on one PostgreSQL database. The first one's connection to the database can be cut. */

let cluster: Cluster
let world: World
let line: DatabaseLine
let folder: string
let first: TestAppliance
let second: RunningDaemon
/** Gets the events of delivered mail. */
let receiver: Receiver
/** How long a duty is held without renewal, in milliseconds. */
const DUTY_MS = 120_000
/** Holds the replies of the slow exchanger back. */
const held = Promise.withResolvers<void>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-nodes-'))
  ;[cluster, receiver, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    startReceiver(),
    createWorld({
      domains: {
        'good.test': { mx: [{ preference: 10, host: 'mx.good.test' }] },
        'slow.test': {
          mx: [
            {
              preference: 10,
              host: 'mx.slow.test',
              exchanger: { behave: on('rcpt', { until: held.promise }, { times: 2 }) },
            },
          ],
        },
      },
    }),
  ])
  const url = await cluster.createDatabase()
  line = await openDatabaseLine(url, folder)
  first = await startAppliance({
    world,
    config: {
      ...configOf(line.url, '127.0.0.8'),
      http: { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' },
      webhooks: { allow_networks: ['127.0.0.0/8'] },
    } as unknown as Partial<Config>,
    pollMs: 200,
  })
  const hook = { endpoint: receiver.url, events: ['email.delivered'] }
  expect(await first.call('POST', '/webhooks', hook)).toMatchObject({ status: 201 })
  // The only node takes the duty to pass events on.
  await send(first.url, 'ada@good.test', 'Early')
  await receiver.waitFor(1)
  second = await startSecond(url)
})

afterAll(async () => {
  held.resolve()
  await second?.stop()
  await first?.close()
  await receiver?.close()
  await line?.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The configuration of a node that differs from the default. */
const configOf = (url: string, ip: string) => ({
  storage: { engine: 'postgres', url },
  delivery: { source_ips: [ip] },
})

/** Starts the second node, with the master key of the first. */
async function startSecond(url: string): Promise<RunningDaemon> {
  const { config } = first
  const own = configOf(url, '127.0.0.9')
  return compose(
    {
      ...config,
      data_dir: join(folder, 'second'),
      secrets: { ...config.secrets, master_key_file: join(config.data_dir, 'master.key') },
      storage: { ...config.storage, url },
      delivery: { ...config.delivery, ...own.delivery },
    },
    {
      log: createSilentLogger(),
      clock: world.clock,
      resolver: { authoritativePort: world.authoritativePort },
      pollMs: 200,
    },
  )
}

/** Calls a node's API with the key of the team. */
async function call<T>(url: string, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${first.apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

const send = async (url: string, to: string, subject: string): Promise<string> => {
  const email = { from: 'hello@sender.test', to, subject, text: 'Hi' }
  return (await call<{ id: string }>(url, 'POST', '/emails', email)).id
}

const nodes = async (url: string) => (await call<Static<typeof NodeList>>(url, 'GET', '/nodes')).data
const statesAt = async (url: string) => (await nodes(url)).map(({ state }) => state).toSorted()

/** The number of nodes by state in the metrics of the second node. */
async function nodesInMetrics(): Promise<string[]> {
  const headers = { authorization: `Bearer ${first.apiKey}` }
  const text = await (await fetch(`${second.url}/metrics`, { headers })).text()
  return [...text.matchAll(/^posthaste_nodes\{state="(\w+)"\} (\d+)$/gm)]
    .map(([, state, count]) => `${state} ${count}`)
    .toSorted()
}

const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

/** The subjects that an exchanger received, with the IPs they came from. */
const arrived = (host: string): string[] =>
  world
    .mailboxOf(host)
    .map(({ raw, session }) => `${/^Subject: (.*)\r$/m.exec(raw.toString())![1]!} ${session.clientAddress}`)
    .toSorted()

/** The subjects of the emails of events that the receiver got. */
const toldOf = (): string[] =>
  receiver.received
    .map(({ body }) => (JSON.parse(body) as { data: { subject: string } }).data.subject)
    .toSorted()

test('mail leaves from the node that has the sending IP, on whichever node it was accepted', async () => {
  await call(second.url, 'PATCH', '/sources/127.0.0.9', { pool: 'bulk' })
  await send(first.url, 'ada@good.test', 'At the first')
  await send(second.url, 'ada@good.test', 'At the second')
  await eventually(() => arrived('mx.good.test')).toEqual([
    'At the first 127.0.0.8',
    'At the second 127.0.0.8',
    'Early 127.0.0.8',
  ])
  const { id } = await call<{ id: string }>(first.url, 'POST', '/sources/assignments', { pool: 'bulk' })
  // The pool of an assignment is remembered for a second at most.
  await eventually(async () => {
    await send(first.url, 'ada@good.test', 'Bulk')
    return arrived('mx.good.test')
  }).toContain('Bulk 127.0.0.9')
  await call(first.url, 'DELETE', `/sources/assignments/${id}`)
  const seen = await nodes(second.url)
  expect(seen.map(({ state, ready, sources, current }) => ({ state, ready, sources, current }))).toEqual(
    expect.arrayContaining([
      { state: 'active', ready: true, sources: ['127.0.0.8'], current: false },
      { state: 'active', ready: true, sources: ['127.0.0.9'], current: true },
    ]),
  )
})

test('a node that loses the database stops delivering, and another delivers the mail it had in flight', async () => {
  // Only the first node may send, so it has all deliveries in progress.
  await call(second.url, 'PATCH', '/sources/127.0.0.9', { pool: 'default', state: 'suspended' })
  const ids = [
    await send(first.url, 'ada@slow.test', 'Slow 1'),
    await send(second.url, 'ada@slow.test', 'Slow 2'),
  ]
  const inProgress = async () =>
    (await Promise.all(ids.map((id) => first.timeline(id)))).map(({ deliveries }) => deliveries[0]!.attempts)
  await eventually(inProgress).toEqual([1, 1])
  await call(second.url, 'PATCH', '/sources/127.0.0.9', { state: 'active' })

  // The first node renews its duty, so that it doesn't expire soon.
  await world.clock.advance(DUTY_MS / 2)
  await send(first.url, 'ada@good.test', 'Renewed')
  await eventually(toldOf).toContain('Renewed')
  const renewedAt = world.clock.now()

  const cutAt = Date.now()
  await line.cut()
  await eventually(async () => {
    const response = await fetch(`${first.url}/readyz`)
    return response.status === 503 ? ((await response.json()) as { reasons: string[] }).reasons.join(' ') : ''
  }).toMatch(/could not renew its entry in the database for 8 seconds/)
  await eventually(() => statesAt(second.url)).toEqual(['active', 'lost'])
  expect(await nodesInMetrics()).toEqual(['active 1', 'leaving 0', 'lost 1', 'stopped 0'])
  const attempts = async () =>
    (await call<{ deliveries: { state: string }[] }>(second.url, 'GET', `/emails/${ids[0]}/timeline`))
      .deliveries[0]!.state
  await eventually(attempts).toBe('waiting')
  expect(Date.now() - cutAt).toBeGreaterThan(8000)

  // Freed deliveries wait for ten seconds, as after a restart.
  await world.clock.advance(15_000)
  await eventually(() => arrived('mx.slow.test')).toEqual(['Slow 1 127.0.0.9', 'Slow 2 127.0.0.9'])

  // The second node took over the duty of the first before it expired.
  await eventually(toldOf).toEqual(expect.arrayContaining(['Slow 1', 'Slow 2']))
  expect(world.clock.now() - renewedAt).toBeLessThan(DUTY_MS - 10_000)

  await line.mend()
  await eventually(() => statesAt(second.url)).toEqual(['active', 'active'])
  await eventually(async () => (await fetch(`${first.url}/readyz`)).status).toBe(200)
  held.resolve()
  expect(arrived('mx.slow.test')).toEqual(['Slow 1 127.0.0.9', 'Slow 2 127.0.0.9'])
})

test('a stopped node is shown as stopped, and a second node with the same ID is rejected', async () => {
  const again = compose(
    { ...first.config, data_dir: await copyOf(first.config.data_dir) },
    {
      log: createSilentLogger(),
      clock: world.clock,
    },
  )
  await expect(again).rejects.toThrow(/Another daemon with the node id [0-9a-f]{16} uses the database/)
  await second.stop()
  expect(await statesAt(first.url)).toEqual(['active', 'stopped'])
  second = await startSecond(line.url)
  expect(await statesAt(first.url)).toEqual(['active', 'active'])
})

test('a stopped node can be removed with its sending IPs, and joins again when it returns', async () => {
  const [other] = (await nodes(first.url)).filter(({ current }) => !current)
  const path = `/nodes/${other!.id}`
  const alive = await call<{ message: string }>(first.url, 'DELETE', path)
  expect(alive.message).toMatch(/ is alive\. Stop it first/)
  await second.stop()
  expect(await call(first.url, 'DELETE', path)).toEqual({ object: 'node', id: other!.id, deleted: true })
  const left = async () => (await nodes(first.url)).map(({ state, sources }) => ({ state, sources }))
  expect(await left()).toEqual([{ state: 'active', sources: ['127.0.0.8'] }])
  second = await startSecond(line.url)
  await eventually(left).toEqual(
    expect.arrayContaining([
      { state: 'active', sources: ['127.0.0.8'] },
      { state: 'active', sources: ['127.0.0.9'] },
    ]),
  )
})

/** Copies what identifies a node. */
async function copyOf(dataDir: string): Promise<string> {
  const { cp, mkdir } = await import('node:fs/promises')
  const copy = join(folder, 'copy')
  await mkdir(copy)
  for (const name of ['node-id', 'master.key']) await cp(join(dataDir, name), join(copy, name))
  return copy
}
