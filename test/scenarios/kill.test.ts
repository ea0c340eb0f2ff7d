import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { createWorld, type World } from '../world/world.ts'

/** What was accepted survives `kill -9`. */

const EMAILS = 200

let world: World
let folder: string
let config: string
let daemon: Daemon | undefined

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  folder = await mkdtemp(join(tmpdir(), 'posthaste-kill-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    delivery: { port: world.deliveryPort, allow_networks: ['127.0.0.0/8'] },
    limits: { rate_per_second: 1_000_000 },
  })
})

afterAll(async () => {
  await daemon?.end('SIGKILL')
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

/** Sets the appliance up by the command line, as an operator does; returns an API key. */
async function setUp(): Promise<string> {
  const common = ['--config', config, '--json']
  expect(
    await run(['setup', '--email', 'owner@sender.test', ...common], 'a long password for tests\n'),
  ).toMatchObject({ code: 0 })
  const added = await run(['domain', 'add', 'sender.test', ...common])
  const domain = JSON.parse(added.stdout) as {
    records: { fqdn: string; type: 'TXT' | 'MX'; value: string; priority?: number }[]
  }
  for (const fqdn of new Set(domain.records.map((record) => record.fqdn))) {
    const here = domain.records.filter((record) => record.fqdn === fqdn)
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
  expect(await run(['domain', 'verify', 'sender.test', ...common])).toMatchObject({ code: 0 })
  const key = await run(['key', 'create', '--name', 'test', ...common])
  return (JSON.parse(key.stdout) as { token: string }).token
}

test(`${EMAILS} accepted emails arrive although the daemon is killed`, async () => {
  const key = await setUp()
  daemon = await startDaemon(config)
  // Nobody gets an answer to RCPT before the kill, so that all of them are queued or in flight.
  world
    .exchanger('mx.busy.test')
    .behave(({ command }) => (command === 'rcpt' ? { until: new Promise(() => undefined) } : undefined))
  const send = async (n: number): Promise<string> => {
    const response = await fetch(`${daemon!.url}/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'a@sender.test', to: `user${n}@busy.test`, subject: `${n}`, text: 'x' }),
    })
    expect(response.status).toBe(200)
    return ((await response.json()) as { id: string }).id
  }
  const ids = await Promise.all(Array.from({ length: EMAILS }, (_, n) => send(n)))
  expect(new Set(ids).size).toBe(EMAILS)
  await daemon.end('SIGKILL')
  expect(world.mailboxOf('mx.busy.test')).toHaveLength(0)

  world.exchanger('mx.busy.test').behave(undefined)
  daemon = await startDaemon(config)
  // Those in flight wait for ten seconds.
  const arrivals = await world.mailboxOf('mx.busy.test').waitFor(EMAILS, 150_000)
  const recipients = arrivals.map(({ envelope }) => envelope.to[0])
  expect(new Set(recipients).size).toBe(EMAILS)
  expect(arrivals).toHaveLength(EMAILS)

  expect(await daemon.end('SIGTERM')).toBe(0)
}, 400_000)
