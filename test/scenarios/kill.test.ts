import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { setUpByCommands } from '../world/set-up.ts'
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

test(`${EMAILS} accepted emails arrive although the daemon is killed`, async () => {
  const key = await setUpByCommands(config, world)
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
