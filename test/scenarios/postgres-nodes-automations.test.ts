import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../../appliance/config/config.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { type Daemon, startDaemon, writeConfig } from '../world/daemon.ts'
import { PATIENCE } from '../world/patience.ts'
import { createWorld, type World } from '../world/world.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/**
 * Two daemons on one PostgreSQL database take events and run steps of one automation. The second is a process of its
 * own, which is killed in between. The first, whose clock the test moves, finishes the runs.
 */

const HOST = 'mx.customer.test'
/** Enough that each node has many left when the other joins, and when it is killed. */
const RUNS = 400
/** How many requests are made at once. */
const CLIENTS = 8
/** Longer than a duty is held without renewal. */
const DUTY_OVER = 121_000
const DAY = 86_400_000

let cluster: Cluster
let world: World
let folder: string
let first: TestAppliance
let second: Daemon

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-nodes-'))
  ;[cluster, world] = await Promise.all([
    startCluster(findPostgresPrograms(), { safe: true }),
    createWorld({ domains: { 'customer.test': { mx: [{ preference: 10, host: HOST }] } } }),
  ])
  const url = await cluster.createDatabase()
  const http = { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' } as Config['http']
  const storage = { engine: 'postgres', url } as Config['storage']
  const delivery = { source_ips: ['127.0.0.8'] } as Config['delivery']
  first = await startAppliance({ world, config: { http, storage, delivery } })
  second = await startSecond(url)
}, 2 * PATIENCE)

afterAll(async () => {
  await second?.end('SIGKILL')
  await first?.close()
  await world?.close()
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Starts the second node as a process, with the master key of the first. */
async function startSecond(url: string): Promise<Daemon> {
  const [file, dataDir] = [join(folder, 'second.toml'), join(folder, 'second')]
  await mkdir(dataDir, { mode: 0o700 })
  await writeConfig(file, {
    hostname: 'mail.sender.test',
    data_dir: dataDir,
    http: { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' },
    smtp: { starttls: [], implicit_tls: [] },
    storage: { engine: 'postgres', url, reserve_mb: 0 },
    secrets: { master_key_file: join(first.config.data_dir, 'master.key') },
    dns: { servers: world.dnsServers },
    delivery: {
      port: world.deliveryPort,
      allow_networks: ['127.0.0.0/8'],
      source_ips: ['127.0.0.9'],
    },
    limits: { rate_per_second: 1_000_000 },
  })
  return startDaemon(file)
}

async function call<T>(node: { url: string }, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${first.apiKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = (await response.json()) as T
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300)
  return answer
}

const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read, { timeout: PATIENCE, interval: 50 })
const nameOf = (n: number): string => `p${n}@customer.test`
const everyone = Array.from({ length: RUNS }, (_, n) => nameOf(n))
const store = () => first.appliance.storage
const now = () => world.clock.now()

/** Creates the automation at the first node. Returns its id, and that of the segment that contacts are added to. */
async function makeAutomation(): Promise<{ id: string; segment: string }> {
  const segment = (await call<{ id: string }>(first, 'POST', '/segments', { name: 'Joined' })).id
  for (const alias of ['hello', 'later']) {
    const template = { name: alias, alias, from: 'hi@sender.test', subject: alias, html: '<p>Hi</p>' }
    await call(first, 'POST', '/templates', template)
    await call(first, 'POST', `/templates/${alias}/publish`, {})
  }
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'joined' } },
    { key: 'hello', type: 'send_email', config: { template: { id: 'hello' } } },
    { key: 'name', type: 'contact_update', config: { last_name: { var: 'event.n' } } },
    { key: 'wait', type: 'delay', config: { duration: '2 days' } },
    { key: 'later', type: 'send_email', config: { template: { id: 'later' } } },
    { key: 'join', type: 'add_to_segment', config: { segment_id: segment } },
  ]
  const connections = steps.slice(1).map(({ key }, at) => ({ from: steps[at]!.key, to: key }))
  const body = { name: 'Many', status: 'enabled', steps, connections }
  return { id: (await call<{ id: string }>(first, 'POST', '/automations', body)).id, segment }
}

const send = (node: { url: string }, email: string) =>
  call(node, 'POST', '/events/send', { event: 'joined', email, payload: { n: email } })

/** The addresses whose event is stored. */
async function stored(): Promise<Set<string>> {
  const page = { teamId: first.teamId, name: 'joined', limit: 2 * RUNS }
  const { items } = await store().listSentEvents(page, now())
  return new Set(items.map(({ email }) => email))
}

/** Sends the events that aren't stored yet, to the nodes in turn. Requests to a killed node fail. */
async function sendEvents(nodes: readonly { url: string }[], about: readonly string[]): Promise<void> {
  const known = await stored()
  const left = about.filter((email) => !known.has(email)).entries()
  const client = async (): Promise<void> => {
    for (const [n, email] of left) await send(nodes[n % nodes.length]!, email).catch(() => undefined)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

/** How many runs have ended a step. */
async function ended(id: string, step: string): Promise<number> {
  const asked = { teamId: first.teamId, automationId: id, since: 0, most: 2 * RUNS }
  const counts = await store().countAutomationSteps(asked, now())
  return counts.find(({ key }) => key === step)?.completed ?? 0
}

/** The recipients of messages with a subject, one for each copy. */
const readers = (subject: string): string[] =>
  world
    .mailboxOf(HOST)
    .filter(({ raw }) => raw.includes(`\r\nSubject: ${subject}\r\n`))
    .map(({ envelope }) => envelope.to[0]!)
    .toSorted()

/** The runs of the automation with their steps. */
async function runs(id: string) {
  const page = { teamId: first.teamId, automationId: id, statuses: [], limit: 2 * RUNS }
  const { items } = await store().listAutomationRuns(page, now())
  return Promise.all(
    items.map(async (run) => (await store().getAutomationRun({ ...page, id: run.id }, now()))!),
  )
}

test(
  'two nodes do each step and send each email of an automation once, although one is killed',
  async ({ annotate }) => {
    const { id, segment } = await makeAutomation()
    // An email in flight at a kill may arrive twice, so none leaves before.
    await call(first, 'POST', '/queue/hold', { filter: { domain: 'customer.test' }, new: true })
    // The node that gets the first event takes the duty.
    await send(second, nameOf(0))
    await eventually(() => ended(id, 'hello')).toBe(1)
    const sending = sendEvents([first, second], everyone.slice(0, (RUNS * 3) / 4))
    const until = async (part: number) => {
      while ((await ended(id, 'hello')) < RUNS * part) await sleep(20)
    }
    await until(1 / 8)
    // By the clock of the first node, the second holds the duty no more. The second works on for a minute.
    const joined = await ended(id, 'hello')
    await world.clock.advance(DUTY_OVER)
    await until(1 / 3)
    await second.end('SIGKILL')
    const killed = await ended(id, 'hello')
    await annotate(`the first node joined after ${joined} emails; the second was killed after ${killed}`)
    expect(killed).toBeLessThan(RUNS)
    await sending
    await sendEvents([first], everyone)
    await eventually(() => ended(id, 'name')).toBe(RUNS)
    await world.clock.advance(2 * DAY)
    await eventually(() => ended(id, 'join')).toBe(RUNS)

    const all = await runs(id)
    expect(new Set(all.map(({ contactId }) => contactId)).size).toBe(RUNS)
    const steps = ['hello', 'join', 'later', 'name', 'start', 'wait'].map((key) => `${key} completed`)
    for (const run of all) {
      expect(run.status).toBe('completed')
      expect(run.steps.map(({ key, status }) => `${key} ${status}`).toSorted()).toEqual(steps)
    }
    expect(all).toHaveLength(RUNS)
    const members = await call<{ contacts: number }>(first, 'GET', `/segments/${segment}`)
    expect(members.contacts).toBe(RUNS)

    await call(first, 'POST', '/queue/release', { filter: { domain: 'customer.test' } })
    const sorted = everyone.toSorted()
    await eventually(() => readers('later').length).toBeGreaterThanOrEqual(RUNS)
    await eventually(() => readers('hello').length).toBeGreaterThanOrEqual(RUNS)
    expect(readers('hello')).toEqual(sorted)
    expect(readers('later')).toEqual(sorted)
  },
  10 * PATIENCE,
)
