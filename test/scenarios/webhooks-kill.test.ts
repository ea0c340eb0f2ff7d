import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/** What endpoints are to be told survives `kill -9`: in the middle of the fan-out, and in the middle of attempts. */

const EMAILS = 150

let world: World
let receiver: Receiver
let folder: string
let config: string
let daemon: Daemon | undefined

beforeAll(async () => {
  world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: 'mx.busy.test' }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  receiver = await startReceiver()
  folder = await mkdtemp(join(tmpdir(), 'posthaste-kill-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    delivery: { port: world.deliveryPort, allow_networks: ['127.0.0.0/8'] },
    webhooks: { allow_networks: ['127.0.0.0/8'] },
    limits: { rate_per_second: 1_000_000 },
  })
})

afterAll(async () => {
  await daemon?.end('SIGKILL')
  await receiver.close()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

/** Sets the appliance up by the command line; returns an API key. */
async function setUp(): Promise<string> {
  const common = ['--config', config, '--json']
  const password = 'a long password for tests\n'
  expect(await run(['setup', '--email', 'owner@sender.test', ...common], password)).toMatchObject({ code: 0 })
  const added = await run(['domain', 'add', 'sender.test', ...common])
  type Published = { fqdn: string; type: 'TXT' | 'MX'; value: string; priority?: number }
  const { records } = JSON.parse(added.stdout) as { records: Published[] }
  for (const fqdn of new Set(records.map((record) => record.fqdn))) {
    const here = records.filter((record) => record.fqdn === fqdn)
    const MX = here.filter(({ type }) => type === 'MX')
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: MX.map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
  expect(await run(['domain', 'verify', 'sender.test', ...common])).toMatchObject({ code: 0 })
  const hook = await run(['webhook', 'add', receiver.url, '--events', 'email.delivered', ...common])
  expect(hook).toMatchObject({ code: 0 })
  const key = await run(['key', 'create', '--name', 'test', ...common])
  return (JSON.parse(key.stdout) as { token: string }).token
}

async function send(key: string, n: number): Promise<string> {
  const response = await fetch(`${daemon!.url}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'a@sender.test', to: `user${n}@busy.test`, subject: `${n}`, text: 'x' }),
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { id: string }).id
}

/** The emails that the endpoint has taken: it answered, and was not killed before. */
const told = (): Set<string> =>
  new Set(
    receiver.received.map(({ body }) => (JSON.parse(body) as { data: { email_id: string } }).data.email_id),
  )

test(`the endpoint hears of all ${EMAILS} emails although the daemon is killed four times`, async () => {
  const key = await setUp()
  // Slow enough that every kill finds attempts under way.
  receiver.behave((_, response) => void setTimeout(() => response.end(), 200))
  const ids: string[] = []
  for (let round = 0; round < 4; round++) {
    daemon = await startDaemon(config)
    const some = Array.from({ length: EMAILS / 5 }, (_, n) => send(key, round * 1000 + n))
    ids.push(...(await Promise.all(some)))
    // At another moment each time: before, during and after the fan-out.
    await new Promise((resolve) => setTimeout(resolve, [30, 120, 300, 700][round]))
    await daemon.end('SIGKILL')
  }
  daemon = await startDaemon(config)
  ids.push(...(await Promise.all(Array.from({ length: EMAILS / 5 }, (_, n) => send(key, 9000 + n)))))
  receiver.behave()
  // Deliveries that were dialled wait a minute and more; attempts that were under way half a minute.
  const end = Date.now() + 300_000
  while (ids.some((id) => !told().has(id)) && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const heard = told()
  expect(ids.filter((id) => !heard.has(id))).toEqual([])
  // Told twice means under the same id, so that the app knows.
  const byEmail = Map.groupBy(
    receiver.received,
    ({ body }) => (JSON.parse(body) as { data: { email_id: string } }).data.email_id,
  )
  for (const requests of byEmail.values())
    expect(new Set(requests.map(({ headers }) => headers['svix-id'])).size).toBe(1)
  const code = await daemon.end('SIGTERM')
  expect(code, daemon.output().slice(-4000)).toBe(0)
}, 600_000)
