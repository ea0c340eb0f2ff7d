import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { startHosted, type HostedWorld } from '../world/hosted.ts'
import { PROGRAM } from '../world/program.ts'
import { setUpByCommands } from '../world/set-up.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests that an import beside a running server, killed again and again, brings everything over once. */

const PEOPLE = 240
/** Contacts whose details the hosted service returns when the import is killed. */
const KILLED_AT = [3, 60, 130, 239]

let world: World
let hosted: HostedWorld
let folder: string
let config: string
let daemon: Daemon
let key: string

beforeAll(async () => {
  world = await createWorld({ domains: {}, names: { 'mail.sender.test': { A: '127.0.0.1' } } })
  hosted = await startHosted(contentOf())
  folder = await mkdtemp(join(tmpdir(), 'posthaste-moving-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    limits: { rate_per_second: 1_000_000 },
  })
  await writeFile(join(folder, 'key'), hosted.key)
  key = await setUpByCommands(config, world)
  daemon = await startDaemon(config)
}, 120_000)
afterAll(async () => {
  await daemon?.end('SIGKILL')
  await hosted?.close()
  await world?.close()
  await rm(folder, { recursive: true, force: true })
})

/** People of whom each third is in the segment, each fourth opted out of the topic, and each fifth of everything. */
function contentOf(): Record<string, unknown> {
  const numbers = Array.from({ length: PEOPLE }, (_, n) => n)
  const content: Record<string, unknown> = {
    '/contact-properties': [{ id: 'k1', key: 'score', type: 'number' }],
    '/segments': [{ id: 's1', name: 'Thirds' }],
    '/segments/s1/contacts': numbers.filter((n) => n % 3 === 0).map((n) => ({ id: `c${n}` })),
    '/topics': [{ id: 't1', name: 'News', default_subscription: 'opt_in' }],
    '/contacts': numbers.map((n) => ({ id: `c${n}`, email: `p${n}@moved.test`, unsubscribed: n % 5 === 0 })),
    '/broadcasts': [{ id: 'b1', name: 'Scheduled there' }],
    '/broadcasts/b1': {
      id: 'b1',
      name: 'Scheduled there',
      status: 'scheduled',
      scheduled_at: '2020-01-01 00:00:00+00',
      segment_id: 's1',
      from: 'ada@sender.test',
      subject: 'Hi',
      html: '<p>Hi <a href="{{{UNSUBSCRIBE_URL}}}">leave</a></p>',
    },
  }
  for (const n of numbers) {
    content[`/contacts/c${n}`] = { id: `c${n}`, properties: { score: { type: 'number', value: n } } }
    content[`/contacts/c${n}/topics`] = [{ id: 't1', subscription: n % 4 === 0 ? 'opt_out' : 'opt_in' }]
  }
  return content
}

const importing = (): string[] => [
  'import',
  '--config',
  config,
  '--from',
  hosted.url,
  '--key-file',
  join(folder, 'key'),
  '--only',
  'properties,segments,topics,contacts,broadcasts',
]

/** Starts the import and kills it when it asks for a contact. */
async function killedAt(contact: number): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...importing()], {
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  hosted.instead = (path) => {
    if (path === `/contacts/c${contact}`) child.kill('SIGKILL')
    return undefined
  }
  await ended
  hosted.instead = () => undefined
  expect(child.signalCode).toBe('SIGKILL')
}

async function all<T extends { id: string }>(path: string): Promise<T[]> {
  const found: T[] = []
  for (let more = true; more;) {
    const after = found.length === 0 ? '' : `&after=${found.at(-1)!.id}`
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${daemon.url}${path}?limit=100${after}`, { headers })
    expect([path, response.status]).toEqual([path, 200])
    const page = (await response.json()) as { data: T[]; has_more: boolean }
    found.push(...page.data)
    more = page.has_more
  }
  return found
}

test(`imports ${PEOPLE} contacts once although the import is killed ${KILLED_AT.length} times`, async () => {
  for (const contact of KILLED_AT) await killedAt(contact)
  const last = await run([...importing(), '--json'])
  expect(last).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(last.stdout)).toMatchObject({
    contacts: { there: PEOPLE, added: 1, present: PEOPLE - 1, left_out: 0 },
    segments: { added: 0, present: 1 },
    broadcasts: { added: 1 },
  })

  const people = await all<{ id: string; email: string; unsubscribed: boolean }>('/contacts')
  expect(new Set(people.map(({ email }) => email)).size).toBe(PEOPLE)
  expect(people).toHaveLength(PEOPLE)
  expect(people.filter(({ unsubscribed }) => unsubscribed)).toHaveLength(PEOPLE / 5)
  const segments = await all<{ id: string; name: string; contacts: number }>('/segments')
  expect(segments).toMatchObject([{ name: 'Thirds', contacts: PEOPLE / 3 }])
  expect(await all(`/segments/${segments[0]!.id}/contacts`)).toHaveLength(PEOPLE / 3)
  expect(await all('/topics')).toMatchObject([{ name: 'News', opted_in: 0, opted_out: PEOPLE / 4 }])
  const headers = { authorization: `Bearer ${key}` }
  for (const n of [4, 130]) {
    const response = await fetch(`${daemon.url}/contacts/p${n}@moved.test`, { headers })
    expect(await response.json()).toMatchObject({ properties: { score: { type: 'number', value: n } } })
  }
  expect(await all('/broadcasts')).toMatchObject([
    { name: 'Scheduled there', status: 'draft', scheduled_at: null },
  ])
  expect(await all('/emails')).toEqual([])
}, 300_000)
