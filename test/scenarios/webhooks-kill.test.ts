import { createTransport } from 'nodemailer'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freeAddress } from '../world/addresses.ts'
import { run, startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Pending webhook deliveries survive `kill -9`, during the fan-out and during attempts. So does mail that port 25
 * acknowledged: it is stored, and endpoints receive its event.
 */

const EMAILS = 150
/** Only root may listen on port 25, the only port that accepts mail without sign-in. */
const isRoot = process.getuid?.() === 0
const mx = freeAddress()

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
    smtp: { starttls: isRoot ? [`${mx}:25`] : [], implicit_tls: [] },
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

/** Sets up the appliance through the command line. Returns an API key and the domain's ID. */
async function setUp(): Promise<{ key: string; domainId: string }> {
  const common = ['--config', config, '--json']
  const password = 'a long password for tests\n'
  expect(await run(['setup', '--email', 'owner@sender.test', ...common], password)).toMatchObject({ code: 0 })
  const added = await run(['domain', 'add', 'sender.test', ...common])
  type Published = { fqdn: string; type: 'TXT' | 'MX'; value: string; priority?: number }
  const { id, records } = JSON.parse(added.stdout) as { id: string; records: Published[] }
  for (const fqdn of new Set(records.map((record) => record.fqdn))) {
    const here = records.filter((record) => record.fqdn === fqdn)
    const MX = here.filter(({ type }) => type === 'MX')
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: MX.map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
  expect(await run(['domain', 'verify', 'sender.test', ...common])).toMatchObject({ code: 0 })
  const hook = await run([
    'webhook',
    'add',
    receiver.url,
    '--events',
    'email.delivered,email.received',
    ...common,
  ])
  expect(hook).toMatchObject({ code: 0 })
  const key = await run(['key', 'create', '--name', 'test', ...common])
  return { key: (JSON.parse(key.stdout) as { token: string }).token, domainId: id }
}

async function call<T>(key: string, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${daemon!.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as T
}

/**
 * Sends a message to port 25, sometimes a large one. Resolves with its subject if it was acknowledged, otherwise with
 * null.
 */
async function bring(round: number, n: number): Promise<string | null> {
  const transport = createTransport({ host: mx, port: 25, ignoreTLS: true })
  const subject = `mail ${round}-${n}`
  try {
    const envelope = { from: 'ada@far.test', to: `box${n}@sender.test` }
    const text = 'A line.\r\n'.repeat(n % 5 === 0 ? 40_000 : 1)
    await transport.sendMail({ envelope, raw: `From: ada@far.test\r\nSubject: ${subject}\r\n\r\n${text}` })
    return subject
  } catch {
    return null // The daemon was killed before the 250.
  } finally {
    transport.close()
  }
}

const bringSome = (round: number) => Array.from({ length: isRoot ? 20 : 0 }, (_, n) => bring(round, n))

/** Returns the IDs and subjects of all received mail. */
async function stored(key: string): Promise<{ id: string; subject: string }[]> {
  const all: { id: string; subject: string }[] = []
  for (let after = ''; ;) {
    const page = await call<{ data: typeof all; has_more: boolean }>(
      key,
      'GET',
      `/emails/receiving?limit=100${after}`,
    )
    all.push(...page.data)
    if (!page.has_more) return all
    after = `&after=${page.data.at(-1)!.id}`
  }
}

async function send(key: string, n: number): Promise<string> {
  const email = { from: 'a@sender.test', to: `user${n}@busy.test`, subject: `${n}`, text: 'x' }
  return (await call<{ id: string }>(key, 'POST', '/emails', email)).id
}

/** Emails whose event the endpoint accepted: it responded before a kill. */
const told = (): Set<string> =>
  new Set(
    receiver.received.map(({ body }) => (JSON.parse(body) as { data: { email_id: string } }).data.email_id),
  )

test(`the endpoint gets events of all ${EMAILS} emails and all received mail although the daemon is killed four times`, async () => {
  const { key, domainId } = await setUp()
  // Slow enough that attempts are in flight at every kill.
  receiver.behave((_, response) => void setTimeout(() => response.end(), 200))
  const ids: string[] = []
  const acknowledged: string[] = []
  for (let round = 0; round < 4; round++) {
    daemon = await startDaemon(config)
    if (round === 0)
      await call(key, 'PATCH', `/domains/${domainId}`, { capabilities: { receiving: 'enabled' } })
    const arriving = bringSome(round)
    const some = Array.from({ length: EMAILS / 5 }, (_, n) => send(key, round * 1000 + n))
    ids.push(...(await Promise.all(some)))
    // Kills at a different moment each time: before, during and after the fan-out.
    await new Promise((resolve) => setTimeout(resolve, [30, 120, 300, 700][round]))
    await daemon.end('SIGKILL')
    acknowledged.push(...(await Promise.all(arriving)).filter((subject) => subject !== null))
  }
  daemon = await startDaemon(config)
  acknowledged.push(...(await Promise.all(bringSome(9))).filter((subject) => subject !== null))
  ids.push(...(await Promise.all(Array.from({ length: EMAILS / 5 }, (_, n) => send(key, 9000 + n)))))
  receiver.behave()
  const received = await stored(key)
  expect(acknowledged.length).toBeGreaterThanOrEqual(isRoot ? 20 : 0)
  expect(acknowledged.filter((subject) => !received.some((one) => one.subject === subject))).toEqual([])
  ids.push(...received.map(({ id }) => id))
  // Mail deliveries that were in flight are retried after a minute or more; webhook attempts after 30 seconds.
  const end = Date.now() + 300_000
  while (ids.some((id) => !told().has(id)) && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  const heard = told()
  expect(ids.filter((id) => !heard.has(id))).toEqual([])
  // An event that is sent twice has the same ID, so that the app can tell.
  const byEmail = Map.groupBy(
    receiver.received,
    ({ body }) => (JSON.parse(body) as { data: { email_id: string } }).data.email_id,
  )
  for (const requests of byEmail.values())
    expect(new Set(requests.map(({ headers }) => headers['svix-id'])).size).toBe(1)
  const code = await daemon.end('SIGTERM')
  expect(code, daemon.output().slice(-4000)).toBe(0)
}, 600_000)
