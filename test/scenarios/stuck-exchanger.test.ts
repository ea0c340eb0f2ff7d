import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { setUpByCommands } from '../world/set-up.ts'
import { createWorld, type World } from '../world/world.ts'

/**
 * Where mail exchangers stop responding during a conversation: at the greeting, at RCPT, in the body, at the final dot.
 */
const STUCK = { greeting: '127.0.0.91', rcpt: '127.0.0.92', body: '127.0.0.93', dot: '127.0.0.94' }
type Where = keyof typeof STUCK

let world: World
let folder: string
let config: string
let daemon: Daemon | undefined
/** Once false, the exchangers work. */
let stuck = true
const reached = new Set<Where>()
const arrived: string[] = []
const sockets = new Set<Socket>()

/** Starts a mail exchanger that gets stuck at one point. */
function serve(where: Where): Promise<() => void> {
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    const stops = (at: Where): boolean => {
      if (!stuck || at !== where) return false
      reached.add(where)
      return true
    }
    if (stops('greeting')) return
    socket.write('220 mx\r\n')
    let body = false
    let held = ''
    socket.on('data', (chunk) => {
      held += chunk.toString('latin1')
      if (body) {
        if (!held.endsWith('\r\n.\r\n') || stops('dot')) return
        held = ''
        body = false
        arrived.push(where)
        return void socket.write('250 taken\r\n')
      }
      const lines = held.split('\r\n')
      held = lines.pop()!
      for (const line of lines) {
        if (/^RCPT/i.test(line) && stops('rcpt')) return
        body ||= /^DATA/i.test(line)
        if (body && stops('body')) socket.pause()
        socket.write(body ? '354 go on\r\n' : '250 well\r\n')
      }
    })
  })
  return new Promise((resolve) =>
    server.listen(world.deliveryPort, STUCK[where], () => resolve(() => void server.close())),
  )
}

const closers: (() => void)[] = []
beforeAll(async () => {
  world = await createWorld({ domains: {}, names: { 'mail.sender.test': { A: '127.0.0.1' } } })
  for (const [where, ip] of Object.entries(STUCK)) {
    world.dns.set(`${where}.test`, { MX: [{ preference: 10, exchange: `mx.${where}.test` }] })
    world.dns.set(`mx.${where}.test`, { A: ip })
    closers.push(await serve(where as Where))
  }
  folder = await mkdtemp(join(tmpdir(), 'posthaste-stuck-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    delivery: { port: world.deliveryPort, allow_networks: ['127.0.0.0/8'] },
  })
})
afterAll(async () => {
  await daemon?.end('SIGKILL')
  for (const socket of sockets) socket.destroy()
  for (const close of closers) close()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

interface Timeline {
  deliveries: { state: string; cause: { note: string } | null }[]
  attempts: unknown[]
}

test('finding 9: exchangers that stop answering do not delay a stop, and their mail is retried', async () => {
  const key = await setUpByCommands(config, world)
  daemon = await startDaemon(config)
  const call = async (path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${daemon!.url}${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(200)
    return response.json()
  }
  const places = Object.keys(STUCK) as Where[]
  const ids = new Map<Where, string>()
  for (const where of places) {
    const text = where === 'body' ? 'x'.repeat(6_000_000) : 'x'
    const sent = await call('/emails', { from: 'a@sender.test', to: `u@${where}.test`, subject: 's', text })
    ids.set(where, (sent as { id: string }).id)
  }
  await expect.poll(() => reached.size, { timeout: 60_000 }).toBe(places.length)

  const from = performance.now()
  expect(await daemon.end('SIGTERM')).toBe(0)
  expect((performance.now() - from) / 1000).toBeLessThan(30)
  const lines = daemon.output().trim().split('\n')
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ msg: 'stopped' })
  expect(daemon.output()).not.toMatch(/storage is closed|not settled/)
  expect(daemon.output()).toContain('"attempts":4')
  expect(arrived).toEqual([])

  daemon = await startDaemon(config)
  for (const where of places) {
    const { deliveries, attempts } = (await call(`/emails/${ids.get(where)!}/timeline`)) as Timeline
    expect(deliveries).toMatchObject([{ state: 'waiting' }])
    expect(JSON.stringify(attempts[0])).toContain('had not answered when Posthaste stopped')
  }
  stuck = false
  await expect.poll(() => arrived.length, { timeout: 60_000 }).toBe(places.length)
  expect(new Set(arrived)).toEqual(new Set(places))
}, 300_000)
