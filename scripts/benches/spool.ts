/**
 * Measures the cost of a full spool: a daemon with many queued deliveries compared with an empty one. Covers startup,
 * memory, how fast new mail is accepted and delivered, and whether a burst is accepted at full speed. The exchanger is
 * a separate process that accepts everything.
 * usage: ./scripts/bench spool [--waiting N] [--rounds N] [--seconds N] [--burst N]
 */
import Database from 'better-sqlite3'
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs, promisify } from 'node:util'
import { firstIdAt } from '../../appliance/mail/ids.ts'
import { formatQueueName } from '../../appliance/mail/queue.ts'
import type { Sink } from './delivery-sink.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { median, residentBytes } from './measured.ts'
import {
  createDaemonHome,
  RECIPIENT_DOMAIN,
  SENDER_DOMAIN,
  startDaemon,
  type DaemonHome,
  type RunningDaemon,
} from './real-daemon.ts'

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    burst: { type: 'string', default: '100000' },
  },
})
const [waiting, rounds, seconds, burst] = [values.waiting, values.rounds, values.seconds, values.burst].map(
  Number,
) as [number, number, number, number]
const CONNECTIONS = 32
const HOUR = 3_600_000
/** Time between the daemon's start and the measurement of its memory, in milliseconds. */
const SETTLED_MS = 5000
const TEXT = 'Text\n'.repeat(400)

/** One of the two daemons, with its measurements. */
interface Place {
  name: string
  folder: string
  home: DaemonHome
  starts: number[]
  /** Memory before the load and after the load. */
  resting: number[]
  memory: number[]
  accepted: number[]
  delivered: number[]
}

await using cleanup = new AsyncDisposableStack()
const root = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(root, { recursive: true, force: true }))
const sink = await startSink()
const places = [await makePlace('empty', 0), await makePlace('full', waiting)]

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${waiting} deliveries queued in the full spool\n`,
)
for (let round = 0; round < rounds; round++)
  for (const place of round % 2 ? places.toReversed() : places) await measure(place)
show()
await burstInto(places[1]!)

/** Starts the exchanger: a process that counts messages. */
async function startSink(): Promise<Sink> {
  const child = fork(join(import.meta.dirname, 'delivery-sink.ts'), ['plain'])
  cleanup.defer(() => void child.kill())
  const [told] = (await once(child, 'message')) as [Sink]
  return told
}

async function makePlace(name: string, rows: number): Promise<Place> {
  const folder = join(root, name)
  await mkdir(folder)
  const home = await createDaemonHome(folder, sink)
  cleanup.defer(() => home.close())
  fill(join(folder, 'data', 'posthaste.db'), rows)
  return { name, folder, home, starts: [], resting: [], memory: [], accepted: [], delivered: [] }
}

/** Adds deferred deliveries that are due in two to six hours, spread over 1000 domains of 20 providers. */
function fill(path: string, rows: number): void {
  const db = new Database(path)
  db.pragma('synchronous = off')
  const { id: teamId } = db.prepare('select id from teams').get() as { id: string }
  const { id: domainId } = db.prepare('select id from domains').get() as { id: string }
  const email = db.prepare(`
    insert into emails (id, team_id, domain_id, api_key_id, via, from_header, to_header, cc_header, bcc_header, reply_to,
      subject, headers, tags, attachments, message_id, return_path, size, last_event, scheduled_at, sent_at, created_at)
    values (?, ?, ?, null, 'rest', ?, ?, '[]', '[]', '[]', 'Hello', '[]', '[]', '[]', ?, ?, 2000, 'sent', null, ?, ?)`)
  const message = db.prepare(
    "insert into messages (email_id, team_id, content, body) values (?, ?, 'message', ?)",
  )
  const delivery = db.prepare(`
    insert into deliveries (email_id, id, team_id, recipient, field, pool, provider, state, attempts, created_at, updated_at,
      queue, stream, domain, due_at, expires_at)
    values (?, ?, ?, ?, 'to', 'default', ?, 'waiting', 2, ?, ?, ?, 'transactional', ?, ?, ?)`)
  const now = Date.now()
  const at = now - 2 * HOUR
  const body = Buffer.from(TEXT)
  const insert = (i: number): void => {
    const id = `${firstIdAt(at + (i % 1000)).slice(0, 24)}${String(i).padStart(12, '0')}`
    const [provider, domain] = [`p${i % 20}.example`, `d${i % 1000}.example`]
    const queue = formatQueueName({ pool: 'default', provider, stream: 'transactional', teamId })
    const due = now + 2 * HOUR + ((i * 7919) % (4 * HOUR))
    email.run(
      id,
      teamId,
      domainId,
      `app@${SENDER_DOMAIN}`,
      `["a@${domain}"]`,
      `<${id}@${SENDER_DOMAIN}>`,
      `b-${id}@x`,
      at,
      at,
    )
    message.run(id, teamId, body)
    delivery.run(id, id, teamId, `a@${domain}`, provider, at, at, queue, domain, due, now + 96 * HOUR)
  }
  for (let from = 0; from < rows; from += 10_000)
    db.transaction(() => {
      for (let i = from; i < Math.min(rows, from + 10_000); i++) insert(i)
    })()
  db.pragma('wal_checkpoint(truncate)')
  db.close()
}

/** Starts the daemon, lets it become idle, and sends new mail for some seconds until all of it is delivered. */
async function measure(place: Place): Promise<void> {
  const daemon = await startDaemon(place.folder, place.home)
  place.starts.push(daemon.startMs)
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
    place.resting.push(residentBytes(daemon.pid))
    const before = await taken(place.home)
    const begin = performance.now()
    const { accepted, answered } = await load(place.home, seconds)
    await until(place.home, before + answered)
    place.accepted.push(accepted / seconds)
    place.delivered.push(answered / ((performance.now() - begin) / 1000))
    place.memory.push(residentBytes(daemon.pid))
  } finally {
    await daemon.stop()
  }
}

/**
 * Sends more mail than can be delivered in the meantime. Measures how fast it is accepted, and how fast part of it
 * is delivered meanwhile. The rest stays in the spool.
 */
async function burstInto({ folder, home }: Place): Promise<void> {
  if (burst === 0) return
  const daemon: RunningDaemon = await startDaemon(folder, home)
  try {
    const before = await taken(home)
    const begin = performance.now()
    let answered = 0
    while (answered < burst) answered += (await load(home, seconds)).answered
    const took = (performance.now() - begin) / 1000
    const delivered = (await taken(home)) - before
    console.log(
      `\nburst: ${answered} emails accepted in ${took.toFixed(0)} s, ${(answered / took).toFixed(0)} per second; ${(delivered / took).toFixed(0)} per second delivered meanwhile; ${(residentBytes(daemon.pid) / 1e6).toFixed(0)} MB`,
    )
  } finally {
    await daemon.stop()
  }
}

async function load(home: DaemonHome, duration: number): Promise<LoadResult> {
  const { hostname, port } = new URL(home.url)
  const plan: LoadPlan = {
    host: hostname,
    port: Number(port),
    path: '/emails',
    connections: CONNECTIONS,
    warmup: 0,
    rate: null,
    headers: { authorization: `Bearer ${home.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      from: `app@${SENDER_DOMAIN}`,
      to: `ada@${RECIPIENT_DOMAIN}`,
      subject: 'Hello',
      text: TEXT,
    }),
    seconds: duration,
  }
  const program = join(import.meta.dirname, 'load.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(plan)])
  const result = JSON.parse(stdout) as LoadResult
  if (result.refused > 0) throw new Error(`${result.refused} requests were refused.`)
  return result
}

/** Returns the number of recipients delivered since the daemon's start, as counted by the daemon. */
async function taken({ url, apiKey }: DaemonHome): Promise<number> {
  const response = await fetch(`${url}/emails/metrics?metrics=delivered`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })
  const { totals } = (await response.json()) as { totals: { delivered: number } }
  return totals.delivered
}

async function until(home: DaemonHome, goal: number): Promise<void> {
  const end = performance.now() + 300_000
  while ((await taken(home)) < goal) {
    if (performance.now() > end) throw new Error('not delivered in five minutes')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function show(): void {
  const columns = ['start ms', 'accepted/s', 'delivered/s', 'RSS MB at rest', 'after load']
  console.log(''.padEnd(10) + columns.map((name) => name.padStart(15)).join(''))
  const rows = places.map(({ name, starts, accepted, delivered, resting, memory }) => {
    const speed = [median(starts), median(accepted), median(delivered)]
    const numbers = [...speed, Math.max(...resting) / 1e6, Math.max(...memory) / 1e6]
    console.log(name.padEnd(10) + numbers.map((n) => n.toFixed(0).padStart(15)).join(''))
    return numbers
  })
  const [empty, full] = rows as [number[], number[]]
  console.log(
    `\nfull / empty: accepted ${(full[1]! / empty[1]!).toFixed(2)}, delivered ${(full[2]! / empty[2]!).toFixed(2)} (medians of ${rounds} rounds)`,
  )
}
