/**
 * Measures how an import of contacts affects mail: emails delivered per second before, during and after it. Then
 * measures how long lists, searches and counts of these contacts take over HTTP. The mail exchanger is a separate
 * process that accepts everything.
 * usage: ./scripts/bench import [--contacts N] [--emails N] [--rounds N]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Sink } from './delivery-sink.ts'
import { processorSeconds, quantile } from './measured.ts'
import { createDaemonHome, RECIPIENT_DOMAIN, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: {
    contacts: { type: 'string', default: '1000000' },
    emails: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '40' },
  },
})
const [contacts, emails, rounds] = [values.contacts, values.emails, values.rounds].map(Number) as [
  number,
  number,
  number,
]
const POLL_MS = 50
/**
 * Interval between checks of the import, in milliseconds. Not shorter, because each request is logged, which counts as
 * another write and slows the import.
 */
const IMPORT_POLL_MS = 500
const CLIENTS = 16

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const child = fork(join(import.meta.dirname, 'delivery-sink.ts'), ['plain'])
cleanup.defer(() => void child.kill())
const [sink] = (await once(child, 'message')) as [Sink]
const home = await createDaemonHome(folder, sink)
cleanup.defer(() => home.close())
const daemon = await startDaemon(folder, home)
cleanup.defer(() => daemon.stop())

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${contacts} contacts, ${emails} emails\n`,
)
const authorization = `Bearer ${home.apiKey}`
await deliver('to warm up', Math.ceil(emails / 4))
const before = await deliver('without an import', emails)
const id = await upload()
const [since, used] = [performance.now(), processorSeconds([daemon.pid])]
const beside = await deliver('beside an import', emails)
const written = (await importNow()).counts.total
const rest = performance.now()
await until(async () => (await importNow()).status === 'completed', IMPORT_POLL_MS)
const whole = (performance.now() - since) / 1000
const rate = (contacts - written) / ((performance.now() - rest) / 1000)
const processor = processorSeconds([daemon.pid]) - used
const after = await deliver('without an import, again', emails)
const alone = (before + after) / 2
console.log(
  `\nemails per second beside the import: ${((100 * beside) / alone).toFixed(0)}% of those without; ` +
    `${written} of ${contacts} rows were written by then${written === contacts ? ' (the import was over: send more emails, or import more)' : ''}
import: ${whole.toFixed(1)} s in all, ${processor.toFixed(1)} s of processor time with the emails beside it;
${rate.toFixed(0)} rows per second after the last email\n`,
)
await pages()

/** Measures from the first request to the last delivery. Returns emails per second. */
async function deliver(name: string, count: number): Promise<number> {
  const goal = (await delivered()) + count
  const email = {
    from: `news@${SENDER_DOMAIN}`,
    to: `ada@${RECIPIENT_DOMAIN}`,
    subject: 'News',
    text: 'Some words.\n'.repeat(80),
  }
  const body = JSON.stringify(email)
  const [cpu, start] = [processorSeconds([daemon.pid]), performance.now()]
  let left = count
  const client = async (): Promise<void> => {
    while (left-- > 0)
      await ask('/emails', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await until(async () => (await delivered()) >= goal)
  const seconds = (performance.now() - start) / 1000
  const each = ((processorSeconds([daemon.pid]) - cpu) / count) * 1e6
  console.log(
    `${name}: ${(count / seconds).toFixed(0)} emails/s, ${each.toFixed(0)} us of processor time each; load ${loadavg()[0]!.toFixed(1)}`,
  )
  return count / seconds
}

/** Uploads a file of contacts. Returns the import's ID. */
async function upload(): Promise<string> {
  const parts = ['email,first_name,last_name,plan,score\n']
  for (let n = 0; n < contacts; n++)
    parts.push(
      `user${n}@customer${n % 5000}.example,First${n % 1000},Last${n % 7000},${n % 20 === 0 ? 'pro' : 'free'},${n % 100}\n`,
    )
  const form = new FormData()
  form.set('file', new Blob(parts), 'bench.csv')
  const properties = { plan: { column: 'plan' }, score: { column: 'score', type: 'number' } }
  const names = { email: 'email', first_name: 'first_name', last_name: 'last_name' }
  form.set('column_map', JSON.stringify({ ...names, properties }))
  return ((await ask('/contacts/imports', { method: 'POST', body: form })) as { id: string }).id
}

interface Import {
  status: string
  counts: { total: number }
}
async function importNow(): Promise<Import> {
  return (await ask(`/contacts/imports/${id}`)) as Import
}

/** Makes one request for each query of the dashboard and apps. */
async function pages(): Promise<void> {
  const middle = (await ask(`/contacts/search?text=user${contacts >> 1}@customer&limit=1`)) as {
    next: string | null
  }
  const rules = { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' }
  const count = { method: 'POST', body: JSON.stringify({ filter: { rules } }) }
  const questions: [string, string, RequestInit?][] = [
    ['list, newest 100', '/contacts?limit=100'],
    ['list, 100 in the middle', `/contacts?limit=100${middle.next === null ? '' : `&after=${middle.next}`}`],
    ['search: a common word', '/contacts/search?text=first7'],
    ['search: a word that nothing has', '/contacts/search?text=zebra'],
    ['search: unsubscribed', '/contacts/search?unsubscribed=true'],
    ['counts of all', '/contacts/counts'],
    [
      'count: property',
      '/contacts/batch/count',
      { ...count, headers: { 'content-type': 'application/json' } },
    ],
  ]
  console.log(`${'one request over HTTP'.padEnd(44)}p50       p95`)
  for (const [name, path, init] of questions) {
    await ask(path, init)
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const start = performance.now()
      await ask(path, init)
      times.push(performance.now() - start)
    }
    const ms = (part: number) => `${quantile(times, part).toFixed(1)} ms`.padEnd(10)
    console.log(name.padEnd(44) + ms(0.5) + ms(0.95))
  }
}

async function delivered(): Promise<number> {
  const found = (await ask('/emails/metrics?metrics=delivered')) as { totals: { delivered: number } }
  return found.totals.delivered
}

async function ask(path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(`${home.url}${path}`, { ...init, headers: { authorization, ...init.headers } })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function until(reached: () => Promise<boolean>, pollMs = POLL_MS): Promise<void> {
  while (!(await reached())) await sleep(pollMs)
}
