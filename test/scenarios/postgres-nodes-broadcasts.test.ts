import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compose, type RunningDaemon } from '../../appliance/compose.ts'
import type { Config } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** Two daemons on one PostgreSQL database send a broadcast while it is paused, resumed, changed and canceled. */

const HOST = 'mx.customer.test'
const IPS = ['127.0.0.8', '127.0.0.9'] as const
/** Enough that each node has many left when the exchanger stops answering. */
const READERS = 120

let cluster: Cluster
let world: World
let folder: string
let first: TestAppliance
let second: RunningDaemon
/** While it is pending, the exchanger answers no message. */
let gate = Promise.withResolvers<void>()
gate.resolve()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-nodes-'))
  ;[cluster, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } }),
  ])
  world.exchanger(HOST).behave(({ command }) => (command === 'message' ? { until: gate.promise } : undefined))
  const url = await cluster.createDatabase()
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  const storage = { engine: 'postgres', url } as Config['storage']
  const delivery = (ip: string) => ({ source_ips: [ip] }) as Config['delivery']
  first = await startAppliance({
    world,
    pollMs: 200,
    config: { http, storage, delivery: delivery(IPS[0]) },
  })
  const { config } = first
  second = await compose(
    {
      ...config,
      data_dir: join(folder, 'second'),
      secrets: { ...config.secrets, master_key_file: join(config.data_dir, 'master.key') },
      delivery: { ...config.delivery, ...delivery(IPS[1]) },
    },
    {
      log: createSilentLogger(),
      clock: world.clock,
      pollMs: 200,
      resolver: { authoritativePort: world.authoritativePort },
    },
  )
})

afterAll(async () => {
  gate.resolve()
  await second?.stop()
  await first?.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Calls the API of a node. */
async function ask(node: { url: string }, method: string, path: string, body: object = {}) {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${first.apiKey}`, 'content-type': 'application/json' },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function call(node: { url: string }, method: string, path: string, body: object = {}) {
  const answer = await ask(node, method, path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })

/** Creates contacts in a segment of their own. Returns their addresses. */
async function manyContacts(name: string): Promise<{ segment: string; addresses: string[] }> {
  const addresses = Array.from({ length: READERS }, (_, n) => `${name}${n}@customer.test`).toSorted()
  const segment = (await call(first, 'POST', '/segments', { name })).id as string
  await call(first, 'POST', '/contacts/batch/add', { emails: addresses, segment_ids: [segment] })
  return { segment, addresses }
}

/** Sends a broadcast with this subject. Returns its id. */
async function send(segment: string, subject: string): Promise<string> {
  const draft = {
    segment_id: segment,
    from: 'news@sender.test',
    subject,
    send: true,
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  }
  return (await call(first, 'POST', '/broadcasts', draft)).id as string
}

/** Sends a broadcast while the exchanger answers no message, until each node has sent some. */
async function sendAndHold(subject: string) {
  gate = Promise.withResolvers()
  const { segment, addresses } = await manyContacts(subject.toLowerCase())
  const before = { all: messages(), of: IPS.map((ip) => messages(ip)) }
  const id = await send(segment, subject)
  await eventually(() => IPS.every((ip, at) => messages(ip) > before.of[at]!)).toBe(true)
  return { id, addresses, begun: () => messages() - before.all }
}

/** Counts the messages that the exchanger has received, answered or not. */
function messages(ip?: string): number {
  const { steps } = world.exchanger(HOST)
  return steps.filter(({ command, client }) => command === 'message' && (ip ?? client) === client).length
}

/** The recipients of messages with a subject, one for each copy. */
const readers = (subject: string): string[] =>
  world
    .mailboxOf(HOST)
    .filter(({ raw }) => raw.includes(`\r\nSubject: ${subject}\r\n`))
    .map(({ envelope }) => envelope.to[0]!)
    .toSorted()

/** Counts the emails of a broadcast that a node has leased. */
async function inFlight(id: string): Promise<number> {
  return (await call(second, 'GET', `/queue/summary?broadcast=${id}`)).in_flight as number
}

/**
 * Waits until both nodes have stopped: only the messages that the exchanger hasn't answered are leased. Returns their
 * number. A node sends leased emails that get a connection within a second (docs/broadcasts.md).
 */
async function untilStopped(id: string, begun: () => number): Promise<number> {
  await world.clock.advance(1000)
  await eventually(async () => (await inFlight(id)) - begun()).toBe(0)
  return begun()
}

const shown = (id: string) => call(second, 'GET', `/broadcasts/${id}`)

test('a broadcast paused on one node stops on both, keeps its content, and resumes without duplicates', async () => {
  const { id, addresses, begun } = await sendAndHold('Pause')
  await call(second, 'POST', `/broadcasts/${id}/pause`)
  const stopped = await untilStopped(id, begun)
  expect(stopped).toBeLessThan(READERS)
  gate.resolve()
  await eventually(() => inFlight(id)).toBe(0)
  for (const node of [first, second]) {
    expect((await ask(node, 'PATCH', `/broadcasts/${id}`, { subject: 'Other' })).status).toBe(403)
    expect((await ask(node, 'PATCH', `/broadcasts/${id}`, { html: '<p>Other</p>' })).status).toBe(403)
  }
  // Other mail shows that both nodes still send.
  await world.clock.advance(60_000)
  await call(first, 'POST', '/emails', {
    from: 'hello@sender.test',
    to: 'eve@customer.test',
    subject: 'Single',
    text: 'Hi',
  })
  await eventually(() => readers('Single')).toEqual(['eve@customer.test'])
  expect(readers('Pause')).toHaveLength(stopped)
  expect(await shown(id)).toMatchObject({ status: 'queued', counts: { delivered: stopped } })

  await call(first, 'POST', `/broadcasts/${id}/resume`)
  await eventually(async () => (await shown(id)).status).toBe('sent')
  await eventually(() => readers('Pause')).toEqual(addresses)
})

test('a broadcast canceled on one node stops on both for good', async () => {
  const { id, begun } = await sendAndHold('Cancel')
  await call(second, 'POST', `/broadcasts/${id}/cancel`)
  const stopped = await untilStopped(id, begun)
  expect(stopped).toBeLessThan(READERS)
  gate.resolve()
  await eventually(() => inFlight(id)).toBe(0)
  const outcome = async (): Promise<[number, number]> => {
    const { counts, skipped } = (await shown(id)) as Record<'counts' | 'skipped', Record<string, number>>
    return [counts.delivered ?? 0, (counts.canceled ?? 0) + (skipped.canceled ?? 0)]
  }
  await eventually(outcome).toEqual([stopped, READERS - stopped])
  for (const node of [first, second])
    expect((await ask(node, 'POST', `/broadcasts/${id}/resume`)).status).toBe(403)
  await world.clock.advance(60_000)
  const got = readers('Cancel')
  expect(got).toHaveLength(stopped)
  expect(new Set(got).size).toBe(stopped)
})

test('pausing and resuming on alternating nodes duplicates and loses no emails', async () => {
  gate.resolve()
  const { segment, addresses } = await manyContacts('often')
  const id = await send(segment, 'Often')
  for (let round = 0; round < 4; round++) {
    const [one, other] = round % 2 === 0 ? [first, second] : [second, first]
    // Once it is sent, it can't be paused any more.
    if ((await ask(one, 'POST', `/broadcasts/${id}/pause`)).status !== 200) break
    await call(other, 'POST', `/broadcasts/${id}/resume`)
    await eventually(() => readers('Often').length).toBeGreaterThan(round * 20)
  }
  await eventually(async () => (await shown(id)).status).toBe('sent')
  await eventually(() => readers('Often')).toEqual(addresses)
})
