import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { setUpByCommands } from '../world/set-up.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests commands about contacts, together with the server that does the work they queue. */

let world: World
let folder: string
let config: string
let daemon: Daemon
let key: string

beforeAll(async () => {
  world = await createWorld({ domains: {}, names: { 'mail.sender.test': { A: '127.0.0.1' } } })
  folder = await mkdtemp(join(tmpdir(), 'posthaste-contact-commands-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    limits: { rate_per_second: 1_000_000 },
  })
  key = await setUpByCommands(config, world)
  daemon = await startDaemon(config)
}, 120_000)
afterAll(async () => {
  await daemon.end('SIGKILL')
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(`${daemon.url}${path}`, init)
  expect([path, response.ok]).toEqual([path, true])
  return (await response.json()) as T
}
const said = async (...args: string[]): Promise<string> => {
  const done = await run([...args, '--config', config])
  expect(done).toMatchObject({ code: 0, stderr: '' })
  return done.stdout
}

test('imports a file into a segment and a topic, and other commands show the contacts', async () => {
  const segment = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const topic = await call<{ id: string }>('POST', '/topics', {
    name: 'News',
    default_subscription: 'opt_in',
  })
  const file = join(folder, 'people.csv')
  await writeFile(file, 'E-Mail;First name;Plan\nada@one.test;Ada;pro\nbob@one.test;=Bob;free\n')
  const told = await said('contact', 'import', file, '--segment', segment.id, '--consent', 'At the fair')
  const id = /^Queued import ([\da-f-]{36})\./.exec(told)![1]!
  const read = () => call<{ status: string; consent: string }>('GET', `/contacts/imports/${id}`)
  let found = await read()
  while (found.status !== 'completed') found = await read()
  expect(found).toMatchObject({ consent: 'At the fair', counts: { created: 2, failed: 0 } })

  expect(await said('contact', 'list', '--search', 'ADA')).toMatch(/subscribed +ada@one\.test +Ada\n$/)
  const shown = await said('contact', 'show', 'ada@one.test')
  for (const line of [/^Added .* by import$/m, /^plan +pro$/im, /^Segments +Readers$/m])
    expect(shown).toMatch(line)
  expect(shown).toMatch(/^Topics +News \(opt_in\)$/m)
  const [head, ...rows] = (await said('contact', 'export', '--segment', segment.id)).trimEnd().split(/\r?\n/)
  expect(head).toMatch(/^id,email,first_name,last_name,unsubscribed,created_at,plan$/i)
  expect(rows.map((row) => row.split(',').slice(1, 3)).toSorted()).toEqual([
    ['ada@one.test', 'Ada'],
    ['bob@one.test', "'=Bob"],
  ])
  expect(JSON.parse(await said('contact', 'export', 'ada@one.test'))).toMatchObject({
    address: 'ada@one.test',
    contact: { first_name: 'Ada' },
    segments: [{ id: segment.id }],
  })
  const emails = (csv: string) =>
    csv
      .trimEnd()
      .split(/\r?\n/)
      .slice(1)
      .map((line) => line.split(',')[1])
  expect(emails(await said('segment', 'export', segment.id)).toSorted()).toEqual([
    'ada@one.test',
    'bob@one.test',
  ])
  expect(emails(await said('topic', 'export', topic.id))).toEqual([])
  await writeFile(file, 'email\nada@one.test\n')
  const next = /([\da-f-]{36})/.exec(await said('topic', 'import', topic.id, file))![1]!
  const ended = () => call<{ status: string }>('GET', `/contacts/imports/${next}`)
  while ((await ended()).status !== 'completed');
  expect(emails(await said('topic', 'export', topic.id))).toEqual(['ada@one.test'])
  expect(await said('segment', 'list')).toMatch(new RegExp(`${segment.id} +2 +added +Readers`))
  expect(await said('segment', 'show', segment.id)).toMatch(/^Readers: 2 contacts/)

  await call('PATCH', '/contacts/ada@one.test/topics', [{ id: topic.id, subscription: 'opt_out' }])
  expect(await said('topic', 'list')).toMatch(new RegExp(`${topic.id} +opt_in +0 +1 +News`))
  expect(await said('topic', 'show', topic.id)).toContain('Opted in: 0 · opted out: 1')
}, 120_000)
