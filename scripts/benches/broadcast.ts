/**
 * Measures the cost of a broadcast to a large segment: how long the expansion to recipients takes, how much the
 * database grows, how much the event loop and transactional mail are delayed, and how many emails are delivered per
 * second compared with single emails of the same size. The readers' exchanger is a separate process that accepts
 * everything. Transactional mail goes to another one in this process.
 * With --rounds, single emails and whole broadcasts of --deliver contacts take turns first, because other work on the
 * machine changes the rate from minute to minute.
 * usage: ./scripts/bench broadcast [--contacts N] [--providers N] [--deliver N] [--singles N] [--rounds N]
 */
import Database from 'better-sqlite3'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freeAddress } from '../../test/world/addresses.ts'
import { fillSegment } from './broadcast-contacts.ts'
import type { Sink } from './delivery-sink.ts'
import { processorSeconds, quantile, threadSeconds } from './measured.ts'
import { createDaemonHome, RECIPIENT_DOMAIN, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: {
    contacts: { type: 'string', default: '1000000' },
    providers: { type: 'string', default: '1' },
    deliver: { type: 'string', default: '20000' },
    singles: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '0' },
  },
})
const [contacts, providers, deliver, singles, rounds] = [
  values.contacts,
  values.providers,
  values.deliver,
  values.singles,
  values.rounds,
].map(Number) as [number, number, number, number, number]
/** The domain that receives transactional mail. */
const OTHER = 'other.example'
/** Interval between probes of transactional mail, in milliseconds. */
const PROBE_MS = 200
const POLL_MS = 100
const SECONDS = { idle: 10, goal: 3600 }
/** Number of emails of a broadcast that are sent before all others (broadcasts/runner.ts). */
const CANARY = 100
const HTML = `<p>Hello {{{FIRST_NAME|there}}}</p>${'<p>A paragraph of some words that somebody reads.</p>'.repeat(60)}<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>`

/** Callbacks by subject. Each resolves a probe when the exchanger has received it. */
const probes = new Map<string, () => void>()

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const sink = await startSink()
const domains = Array.from({ length: providers }, (_, n) =>
  n === 0 ? RECIPIENT_DOMAIN : `readers${n}.example`,
)
const addresses = new Map(domains.map((domain) => [domain, sink.address]))
const home = await createDaemonHome(folder, sink, addresses.set(OTHER, await startExchanger(sink.port)))
cleanup.defer(() => home.close())
const file = join(folder, 'data', 'posthaste.db')
const segment = fillSegment(file, { contacts, domains })
const small = rounds > 0 ? fillSegment(file, { contacts: deliver + CANARY, domains, part: 1 }) : segment
const metricsAddress = `${freeAddress()}:${new URL(home.url).port}`
const daemon = await startDaemon(folder, home, {
  POSTHASTE_HTTP__PUBLIC_URL: `https://mail.${SENDER_DOMAIN}`,
  POSTHASTE_METRICS__LISTEN: `["${metricsAddress}"]`,
})
cleanup.defer(() => daemon.stop())

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${contacts} contacts at ${providers} provider${providers === 1 ? '' : 's'}\n`,
)
await watched('nothing to do', () => sleep(SECONDS.idle * 1000))
for (let round = 0; round < rounds; round++) {
  await measureSingles()
  await measureBroadcast()
}
if (contacts > 0) await measureLarge()

/** Measures a broadcast to all contacts. */
async function measureLarge(): Promise<void> {
  await measureSingles()
  const before = sizes()
  const id = await create(segment)
  await expansion(id, before)
  await delivery(id)
}

/** Sends single emails of the same size, and measures from the first request to the last delivery. */
async function measureSingles(): Promise<void> {
  const goal = (await delivered()) + singles
  const html = HTML.replace(/\{\{\{FIRST_NAME[^}]*\}\}\}/, 'Ada')
  const body = JSON.stringify({
    from: `news@${SENDER_DOMAIN}`,
    to: `ada@${RECIPIENT_DOMAIN}`,
    subject: 'News',
    html,
  })
  await watched(`${singles} single emails`, async () => {
    let left = singles
    const client = async (): Promise<void> => {
      while (left-- > 0) await post('/emails', body)
    }
    await Promise.all(Array.from({ length: 16 }, client))
    await until(async () => (await delivered()) >= goal)
    return singles
  })
}

/** Sends a whole broadcast, and measures from the end of its first batch to its last delivery. */
async function measureBroadcast(): Promise<void> {
  const goal = (await delivered()) + deliver + CANARY
  const whole = await create(small)
  await post(`/broadcasts/${whole}/send`, '{}')
  await until(() => Promise.resolve(row(whole).enqueued > CANARY))
  await watched(`${deliver} emails of a broadcast`, async () => {
    await until(async () => (await delivered()) >= goal)
    return deliver
  })
  await until(() => Promise.resolve(row(whole).finished_at !== null))
}

/** Measures the expansion without deliveries, so that the database grows only by recipients. */
async function expansion(id: string, before: ReadonlyMap<string, number>): Promise<void> {
  for (const domain of domains) await post(`/lanes/auto~${domain}/pause`, '{}')
  await watched('expansion', async () => {
    await post(`/broadcasts/${id}/send`, '{}')
    await until(() => Promise.resolve(row(id).expanded_at !== null))
    return contacts
  })
  const after = sizes()
  const { expanded, enqueued } = row(id)
  const grown = ([name, bytes]: [string, number]): number => bytes - (before.get(name) ?? 0)
  const recipients = [...after].filter(([name]) => name.includes('broadcast_recipients'))
  const bytes = recipients.reduce((sum, one) => sum + grown(one), 0) / expanded
  const all = [...after].reduce((sum, one) => sum + grown(one), 0) / expanded
  console.log(
    `${expanded} recipients, ${enqueued} of them with an email; ${bytes.toFixed(0)} bytes for each, ${all.toFixed(0)} in all tables\n`,
  )
}

/** Runs until the given number of emails have arrived, then cancels the rest. */
async function delivery(id: string): Promise<void> {
  const goal = (await delivered()) + Math.min(deliver, contacts)
  for (const domain of domains) await post(`/lanes/auto~${domain}/resume`, '{}')
  await watched('delivery', async () => {
    await until(async () => (await delivered()) >= goal)
    return Math.min(deliver, contacts)
  })
  if (deliver >= contacts) return
  await watched('cancellation', async () => {
    await post(`/broadcasts/${id}/cancel`, '{}')
    await until(() => Promise.resolve(row(id).finished_at !== null))
    return contacts - row(id).enqueued
  })
}

/**
 * Prints how long some work took, what resources the daemon used, and how much other mail was delayed.
 * @param work returns the number of items that it processed
 */
async function watched(name: string, work: () => Promise<number | void>): Promise<void> {
  await loopDelay()
  const probing = new AbortController()
  const late = probe(probing.signal)
  const threads = threadSeconds(daemon.pid)
  const [cpu, start] = [processorSeconds([daemon.pid]), performance.now()]
  const things = (await work()) ?? 0
  const seconds = (performance.now() - start) / 1000
  const used = processorSeconds([daemon.pid]) - cpu
  const busy = threadSeconds(daemon.pid)
    .map(({ name, id: thread, seconds: now }) => ({
      name,
      seconds: now - (threads.find((one) => one.id === thread)?.seconds ?? 0),
    }))
    .filter((one) => one.seconds > 0.1)
    .map((one) => `${one.name} ${((one.seconds / things) * 1e6).toFixed(0)}`)
  const loop = await loopDelay()
  probing.abort()
  const delays = await late
  const each =
    things === 0
      ? ''
      : `, ${(things / seconds).toFixed(0)} per second, ${((used / things) * 1e6).toFixed(0)} us of processor time each`
  console.log(
    `${name}: ${seconds.toFixed(1)} s, ${used.toFixed(1)} s of processor time${each}
  event loop p50 ${loop.p50.toFixed(1)} ms, p99 ${loop.p99.toFixed(1)} ms; transactional mail delivered after ${quantile(delays, 0.5).toFixed(0)} ms (p50), ${quantile(delays, 0.99).toFixed(0)} (p99), ${Math.max(...delays).toFixed(0)} (longest of ${delays.length}); load average ${loadavg()[0]!.toFixed(1)}
  us of each thread: ${things === 0 ? '' : busy.join(', ')}\n`,
  )
}

/** Sends single emails until stopped. Returns the times from request to delivery, in milliseconds. */
async function probe(stopped: AbortSignal): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; !stopped.aborted || n === 0; n++) {
    const [subject, start] = [`probe-${performance.now()}`, performance.now()]
    const arrival = new Promise<void>((resolve) => probes.set(subject, resolve))
    await post(
      '/emails',
      JSON.stringify({ from: `a@${SENDER_DOMAIN}`, to: `b@${OTHER}`, subject, text: 'x' }),
    )
    await arrival
    times.push(performance.now() - start)
    await sleep(PROBE_MS)
  }
  return times
}

/** Returns the event loop delay since the last call, in milliseconds: Node's measurement minus its 10 ms interval. */
async function loopDelay(): Promise<{ p50: number; p99: number }> {
  const page = await (await fetch(`http://${metricsAddress}/metrics`)).text()
  const read = (part: string): number =>
    Number(new RegExp(`^nodejs_eventloop_lag_${part}_seconds (\\S+)$`, 'm').exec(page)![1]) * 1000 - 10
  return { p50: read('p50'), p99: read('p99') }
}

async function create(readers: string): Promise<string> {
  const draft = { segment_id: readers, from: `news@${SENDER_DOMAIN}`, subject: 'News', html: HTML }
  return (await post<{ id: string }>('/broadcasts', JSON.stringify(draft))).id
}

async function post<T>(path: string, body: string): Promise<T> {
  const headers = { authorization: `Bearer ${home.apiKey}`, 'content-type': 'application/json' }
  const answer = await fetch(`${home.url}${path}`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/**
 * Returns the number of recipients delivered since the daemon's start, as counted by the daemon. It includes five
 * probes per second.
 */
async function delivered(): Promise<number> {
  const headers = { authorization: `Bearer ${home.apiKey}` }
  const response = await fetch(`${home.url}/emails/metrics?metrics=delivered`, { headers })
  return ((await response.json()) as { totals: { delivered: number } }).totals.delivered
}

interface BroadcastRow {
  expanded: number
  enqueued: number
  expanded_at: number | null
  finished_at: number | null
}
function row(id: string): BroadcastRow {
  return read((db) => db.prepare('select * from broadcasts where id = ?').get(id)) as BroadcastRow
}

function read<T>(look: (db: Database.Database) => T): T {
  const db = new Database(file, { readonly: true })
  try {
    return look(db)
  } finally {
    db.close()
  }
}

/** Returns the size of each table and index, in bytes of its pages. */
function sizes(): Map<string, number> {
  const query = 'select name, sum(pgsize) as bytes from dbstat group by name'
  const found = read((db) => db.prepare(query).all()) as { name: string; bytes: number }[]
  return new Map(found.map(({ name, bytes }) => [name, bytes]))
}

async function until(reached: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + SECONDS.goal * 1000
  while (!(await reached())) {
    if (performance.now() > end) throw new Error(`not reached in ${SECONDS.goal} seconds`)
    await sleep(POLL_MS)
  }
}

async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, 'delivery-sink.ts'), ['plain'])
  cleanup.defer(() => void child.kill())
  return ((await once(child, 'message')) as [Sink])[0]
}

/** Starts a small SMTP server (RFC 5321) that resolves probes. Returns its address. */
async function startExchanger(port: number): Promise<string> {
  const address = freeAddress()
  const server = createServer({ noDelay: true }, (socket) => {
    let unread = ''
    let body = false
    let subject = ''
    socket.on('error', () => socket.destroy())
    socket.write('220 exchanger ESMTP\r\n')
    socket.on('data', (chunk) => {
      const lines = (unread + chunk.toString('latin1')).split('\r\n')
      unread = lines.pop()!
      for (const line of lines) {
        if (body) subject = /^Subject: (.*)$/.exec(line)?.[1] ?? subject
        body = answer(socket, line, body, subject)
      }
    })
  })
  server.listen(port, address)
  await once(server, 'listening')
  cleanup.defer(() => void server.close())
  return address
}

/** Returns whether the next line belongs to a message. */
function answer(socket: Socket, line: string, body: boolean, subject: string): boolean {
  if (body && line !== '.') return true
  const command = line.slice(0, 4).toUpperCase()
  if (body) {
    socket.write('250 2.0.0 taken\r\n')
    probes.get(subject)?.()
    probes.delete(subject)
  } else if (command === 'EHLO') socket.write('250-exchanger\r\n250 PIPELINING\r\n')
  else if (command === 'QUIT') socket.end('221 2.0.0 bye\r\n')
  else socket.write(command === 'DATA' ? '354 go on\r\n' : '250 2.0.0 ok\r\n')
  return !body && command === 'DATA'
}
