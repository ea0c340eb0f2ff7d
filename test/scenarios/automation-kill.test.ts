import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SandboxDaemon, startSandboxDaemon } from '../world/sandbox-daemon.ts'

/**
 * Runs of an automation do each step once, although the daemon is killed again and again and days pass in between.
 * AUTOMATION_RUNS and AUTOMATION_KILLS set the numbers of runs, and of kills in each part.
 */

const RUNS = Number(process.env.AUTOMATION_RUNS ?? 300)
const KILLS = Number(process.env.AUTOMATION_KILLS ?? 1)
const DAY = 86_400_000
/** How many requests are made at once. */
const CLIENTS = 16

let dataDir: string
let daemon: SandboxDaemon
/** How many of the steps were done at each kill. */
const killedAt: string[] = []

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'posthaste-automation-kill-'))
})
afterAll(async () => {
  await daemon?.end('SIGKILL')
  await rm(dataDir, { recursive: true, force: true })
})

/** Starts the daemon with a clock that is ahead by some days. */
async function start(days: number): Promise<void> {
  const ahead = `
    const now = Date.now
    Date.now = () => now() + ${days * DAY}
    globalThis.Date = class extends Date {
      constructor(...given) { super(...(given.length === 0 ? [Date.now()] : given)) }
    }`
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
    POSTHASTE_LOG__LEVEL: 'error',
  }
  daemon = await startSandboxDaemon({ dataDir, env })
}

async function make(path: string, body: object): Promise<string> {
  const answer = await daemon.call('POST', path, body)
  const { id } = answer.body as { id?: string }
  if (answer.status >= 300) throw new Error(JSON.stringify(answer))
  return id ?? ''
}

/** Reads the database while the daemon runs, or after it was killed. */
function query<T>(text: string, ...values: string[]): T[] {
  const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
  try {
    return db.prepare<string[], T>(text).all(...values)
  } finally {
    db.close()
  }
}
const count = (text: string, ...values: string[]): number => query<{ n: number }>(text, ...values)[0]!.n
const sent = () => count('select count(*) as n from sent_events')
const begun = () => count('select count(*) as n from automation_runs')
const ended = (key: string) =>
  count('select count(*) as n from automation_run_steps where key = ? and completed_at is not null', key)

/**
 * Waits until `enough` is true. It may read whole tables, so it rests twenty times as long as it takes: otherwise it
 * would compete with the daemon, and keep SQLite from starting a new log.
 */
async function until(enough: () => boolean): Promise<void> {
  for (;;) {
    const before = performance.now()
    if (enough()) return
    await sleep(5 + 20 * (performance.now() - before))
  }
}

/** Kills the daemon several times while `done` rises to the number of runs, then lets it finish. */
async function killed(
  what: string,
  days: number,
  done: () => number,
  work?: () => Promise<void>,
): Promise<void> {
  for (let kill = 1; kill <= KILLS; kill++) {
    const working = work?.()
    await until(() => done() >= (RUNS * kill) / (KILLS + 1))
    await daemon.end('SIGKILL')
    await working
    killedAt.push(`${what} ${done()}`)
    await start(days)
  }
  await work?.()
  await until(() => done() >= RUNS)
}

/** Sends the event of everybody whose event isn't stored yet. A killed daemon may have stored one without an answer. */
async function sendEvents(): Promise<void> {
  const known = new Set(query<{ email: string }>('select email from sent_events').map(({ email }) => email))
  const left = Array.from({ length: RUNS }, (_, n) => n).filter((n) => !known.has(`p${n}@held.example`))
  const client = async (): Promise<void> => {
    for (let n = left.shift(); n !== undefined; n = left.shift())
      await daemon.call('POST', '/events/send', {
        event: 'joined',
        email: `p${n}@held.example`,
        payload: { n: String(n) },
      })
  }
  // Requests fail when the daemon is killed.
  await Promise.allSettled(Array.from({ length: CLIENTS }, client))
}

test(`${RUNS} runs with delays of days execute each step once although the daemon is killed`, async ({
  annotate,
}) => {
  await start(0)
  await make('/queue/hold', { filter: { domain: 'held.example' }, new: true })
  const segment = await make('/segments', { name: 'Joined' })
  const { body: domains } = await daemon.call('GET', '/domains')
  const domain = (domains as { data: { name: string }[] }).data[0]!.name
  await make('/templates', {
    name: 'Hi',
    alias: 'hi',
    from: `hi@${domain}`,
    subject: 'Hi',
    html: '<p>Hi</p>',
  })
  await daemon.call('POST', '/templates/hi/publish')
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'joined' } },
    { key: 'two', type: 'delay', config: { duration: '2 days' } },
    { key: 'mail', type: 'send_email', config: { template: { id: 'hi' } } },
    { key: 'name', type: 'contact_update', config: { last_name: { var: 'event.n' } } },
    { key: 'three', type: 'delay', config: { duration: '3 days' } },
    { key: 'join', type: 'add_to_segment', config: { segment_id: segment } },
  ]
  const connections = steps.slice(1).map(({ key }, at) => ({ from: steps[at]!.key, to: key }))
  await make('/automations', { name: 'Many', status: 'enabled', steps, connections })

  await killed('events', 0, sent, sendEvents)
  await killed('starts', 0, begun)
  await daemon.end('SIGTERM')
  await start(3)
  await killed('emails', 3, () => ended('name'))
  await daemon.end('SIGTERM')
  await start(7)
  await killed('segment', 7, () => ended('join'))
  expect(await daemon.end('SIGTERM')).toBe(0)
  await annotate(`killed after: ${killedAt.join(', ')}`)

  const perStep = query('select key, status, count(*) as n from automation_run_steps group by key, status')
  expect(perStep).toEqual(
    ['join', 'mail', 'name', 'start', 'three', 'two'].map((key) => ({ key, status: 'completed', n: RUNS })),
  )
  expect(query('select status, count(*) as n from automation_runs group by status')).toEqual([
    { status: 'completed', n: RUNS },
  ])
  expect(query('select count(*) as n, count(distinct to_header) as people from emails')).toEqual([
    { n: RUNS, people: RUNS },
  ])
  expect(count('select count(*) as n from contact_segments where segment_id = ?', segment)).toBe(RUNS)
  expect(count("select count(*) as n from contacts where email = 'p' || last_name || '@held.example'")).toBe(
    RUNS,
  )
  expect(killedAt.some((one) => Number(one.split(' ')[1]) < RUNS)).toBe(true)
}, 3_600_000)
