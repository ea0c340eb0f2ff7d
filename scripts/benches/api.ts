/**
 * Measures how many emails per second the API accepts, durably, over HTTP keep-alive. The baseline is a bare server
 * that validates the same body and makes one durable insert. Both run in turns on the same machine; servers and load
 * generator are separate processes. Prints a table.
 * usage: ./scripts/bench api [--rounds N] [--seconds S] [--connections C] [--html-only]
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { parseArgs, promisify } from 'node:util'
import type { Target } from './api-server.ts'
import type { LoadPlan, LoadResult } from './load.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '64' },
    'html-only': { type: 'boolean', default: false },
  },
})
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [
  number,
  number,
  number,
]

/** A typical shop receipt: 1.6 KB of HTML, 0.5 KB of text. */
const row = (n: number) => `<tr><td>Article number ${n}</td><td align="right">${n * 7}.50</td></tr>`
const html = `<!doctype html><html><body><h1>Your order</h1><p>Thank you, it is on its way.</p><table>${Array.from(
  { length: 22 },
  (_, n) => row(n),
).join('')}</table></body></html>`
const text = `Your order\n\nThank you, it is on its way.\n\n${Array.from({ length: 16 }, (_, n) => `Article number ${n}: ${n * 7}.50`).join('\n')}`
const body = JSON.stringify({
  from: 'Shop <orders@acme.example>',
  to: ['customer@example.test'],
  subject: 'Your order 4711',
  html,
  ...(values['html-only'] ? {} : { text }),
  tags: [{ name: 'kind', value: 'receipt' }],
})

type Name = 'ours' | 'bare'
const names: Name[] = ['ours', 'bare']
const servers = new Map<Name, { child: ChildProcess; target: Target }>()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
try {
  for (const name of names) servers.set(name, await startServer(name))
  await measure()
} finally {
  for (const { child } of servers.values()) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
}

async function startServer(name: Name): Promise<{ child: ChildProcess; target: Target }> {
  const script = join(import.meta.dirname, 'api-server.ts')
  const dataDir = await mkdtemp(join(folder, name))
  const child = spawn(process.execPath, [script, name, dataDir], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [target] = (await once(child, 'message')) as [Target]
  return { child, target }
}

/** A result with the CPU time per email. On a shared machine, CPU time is more reliable than the rate. */
type Result = LoadResult & { microseconds: number }

async function load(name: Name, rate: number | null): Promise<Result> {
  const plan: LoadPlan = {
    ...servers.get(name)!.target,
    path: '/emails',
    body,
    connections,
    warmup: 1,
    seconds,
    rate,
  }
  const before = await processorTime(name)
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'load.ts'),
    JSON.stringify(plan),
  ])
  const result = JSON.parse(stdout) as LoadResult
  const microseconds = (await processorTime(name)) - before
  if (result.refused > 0) throw new Error(`${name} refused ${result.refused} requests.`)
  return { ...result, microseconds: microseconds / result.answered }
}

/** Returns a server's CPU time so far, over all threads, in microseconds. */
async function processorTime(name: Name): Promise<number> {
  const { child } = servers.get(name)!
  child.send('time')
  const [time] = (await once(child, 'message')) as [number]
  return time
}

async function measure(): Promise<void> {
  console.log(`${availableParallelism()} cores, ${connections} connections, body of ${body.length} bytes`)
  const full = { ours: [] as Result[], bare: [] as Result[] }
  const most = { ours: [] as Result[], bare: [] as Result[] }
  for (const name of names) await load(name, null)
  for (let round = 1; round <= rounds; round++) {
    for (const name of names) full[name].push(await load(name, null))
    const [ours, bare] = names.map((name) => perSecond(full[name].at(-1)!))
    console.log(`round ${round}: Posthaste ${ours!.toFixed(0)}/s, bare handler ${bare!.toFixed(0)}/s`)
  }
  const rates = { ours: median(full.ours.map(perSecond)), bare: median(full.bare.map(perSecond)) }
  for (let round = 1; round <= rounds; round++)
    for (const name of names) most[name].push(await load(name, rates[name] * 0.8))
  console.log(
    '\n                accepted/s   CPU us/email   p50 ms full load   p50 ms at 80%    p99 ms at 80%    (medians)',
  )
  for (const name of names) {
    const of = (results: Result[], figure: 'p50' | 'p99' | 'microseconds', digits: number) =>
      median(results.map((one) => one[figure])).toFixed(digits)
    const figures = [
      rates[name].toFixed(0).padStart(12),
      of(full[name], 'microseconds', 0).padStart(15),
      of(full[name], 'p50', 1).padStart(19),
      of(most[name], 'p50', 1).padStart(17),
      of(most[name], 'p99', 1).padStart(17),
    ]
    console.log(`${name.padEnd(14)}${figures.join('')}`)
  }
  const perRound = full.ours.map((one, n) => perSecond(one) / perSecond(full.bare[n]!))
  console.log(
    `\nPosthaste: ${(median(perRound) * 100).toFixed(0)}% of the bare handler (median of the rounds)`,
  )
}

function perSecond({ accepted, seconds: time }: LoadResult): number {
  return accepted / time
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}
