import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { setUpByCommands } from '../world/set-up.ts'
import { createWorld, type World } from '../world/world.ts'

/** A broadcast reaches everybody although the daemon is killed, and nobody twice but those whose email was on the wire. */

const READERS = 300
/** How many emails have arrived when the daemon is killed; 0: at once, while contacts become recipients. */
const KILLS = [0, 40, 150]
/** Messages on the wire at one moment, at most: the connections to one provider. */
const ON_THE_WIRE = 10

let world: World
let folder: string
let config: string
let daemon: Daemon | undefined

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  folder = await mkdtemp(join(tmpdir(), 'posthaste-broadcast-kill-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' },
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

test(`${READERS} readers get a broadcast although the daemon is killed ${KILLS.length} times`, async () => {
  const key = await setUpByCommands(config, world)
  daemon = await startDaemon(config)
  // Slow enough for kills in between.
  world
    .exchanger('mx.busy.test')
    .behave(({ command }) => (command === 'rcpt' ? { until: sleep(100) } : undefined))
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${daemon!.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    expect(response.ok).toBe(true)
    return (await response.json()) as T
  }
  const { id: segment } = await call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@busy.test`)
  await call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await call<{ id: string }>('POST', '/broadcasts', {
    ...{ segment_id: segment, from: 'news@sender.test', subject: 'News', send: true },
    html: '<p>Hello</p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
  })
  const mailbox = world.mailboxOf('mx.busy.test')
  for (const arrived of KILLS) {
    await vi.waitFor(() => expect(mailbox.length).toBeGreaterThanOrEqual(arrived), { timeout: 150_000 })
    await daemon.end('SIGKILL')
    daemon = await startDaemon(config)
  }
  const names = (): Set<string> => new Set(mailbox.map(({ envelope }) => envelope.to[0]!))
  // Those that were on the wire are retried after ten seconds.
  await vi.waitFor(() => expect(names().size).toBe(READERS), { timeout: 150_000, interval: 50 })
  await vi.waitFor(
    async () =>
      expect(await call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'sent', recipients: READERS }),
    { timeout: 150_000, interval: 100 },
  )
  expect(mailbox.length).toBeLessThanOrEqual(READERS + KILLS.length * ON_THE_WIRE)
  expect(await daemon.end('SIGTERM')).toBe(0)
}, 400_000)
