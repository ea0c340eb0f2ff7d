/**
 * Measures the event loop delay with a slow disk. Each sync of the daemon is delayed (test/fixtures/faults/disk.c)
 * while mail is accepted over REST at full speed and delivered. Compares with no delay, and with an idle daemon.
 * Measures like prom-client: it checks every 10 ms how late the loop is, minus the 10 ms.
 * usage: ./scripts/bench slow-disk [--ms 10,25,50] [--seconds 20] [--connections 32] [--rate N]
 */
import { execFile, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import type { Sink } from './delivery-sink.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { createDaemonHome, RECIPIENT_DOMAIN, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const { values } = parseArgs({
  options: {
    ms: { type: 'string', default: '10,25,50' },
    seconds: { type: 'string', default: '20' },
    connections: { type: 'string', default: '32' },
    rate: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
/** The monitor's interval, in milliseconds. */
const STEP = 10

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const library = join(folder, 'disk.so')
const source = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'faults', 'disk.c')
execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'inherit' })
const child = fork(join(import.meta.dirname, 'delivery-sink.ts'), ['plain'])
cleanup.defer(() => void child.kill())
const [sink] = (await once(child, 'message')) as [Sink]
const home = await createDaemonHome(folder, sink)
cleanup.defer(() => home.close())
const fault = join(folder, 'fault')
const daemon = await startDaemon(folder, home, { LD_PRELOAD: library, FAULT_FILE: fault })
cleanup.defer(() => daemon.stop())

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${values.connections} connections, ${seconds} s each\n`,
)
const columns = ['accepted/s', 'p50', 'p99', 'loop p50', 'loop p99', 'longest']
console.log(`${'delay of each sync'.padEnd(24)}${columns.map((one) => one.padStart(12)).join('')}`)
// The first requests run with cold caches and uncompiled code.
await load(5)
await metrics()
await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
row('(nothing to do)', null, await lateness())
for (const ms of [0, ...values.ms.split(',').map(Number)]) {
  if (ms > 0) await writeFile(fault, `slow ${ms}`)
  await load(2)
  await metrics()
  const result = await load(seconds)
  row(`${ms} ms`, result, await lateness())
}
await rm(fault)

async function load(time: number): Promise<LoadResult> {
  const { hostname, port } = new URL(home.url)
  const plan: LoadPlan = {
    host: hostname,
    port: Number(port),
    path: '/emails',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${home.apiKey}` },
    body: JSON.stringify({
      from: `app@${SENDER_DOMAIN}`,
      to: `ada@${RECIPIENT_DOMAIN}`,
      subject: 'Hello',
      text: 'Text\n'.repeat(400),
    }),
    connections: Number(values.connections),
    warmup: 0,
    seconds: time,
    rate: values.rate === undefined ? null : Number(values.rate),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'load.ts'),
    JSON.stringify(plan),
  ])
  return JSON.parse(stdout) as LoadResult
}

/** Fetches the Prometheus metrics. The monitor resets on each read. */
async function metrics(): Promise<string> {
  const response = await fetch(`${home.url}/metrics`, { headers: { authorization: `Bearer ${home.apiKey}` } })
  if (response.status !== 200) throw new Error(`GET /metrics: ${response.status} ${await response.text()}`)
  return response.text()
}

/** Returns the delay since the last read, in milliseconds: median, p99 and maximum. */
async function lateness(): Promise<number[]> {
  const page = await metrics()
  return ['p50', 'p99', 'max'].map((which) => {
    const said = new RegExp(`^nodejs_eventloop_lag_${which}_seconds (\\S+)`, 'm').exec(page)
    return Math.max(0, Number(said![1]) * 1000 - STEP)
  })
}

function row(name: string, result: LoadResult | null, late: number[]): void {
  const milliseconds = (time?: number) => (time === undefined ? '' : `${time.toFixed(1)} ms`)
  const cells = [
    result ? (result.accepted / result.seconds).toFixed(0) : '',
    milliseconds(result?.p50),
    milliseconds(result?.p99),
    ...late.map((time) => milliseconds(time)),
  ]
  console.log(name.padEnd(24) + cells.map((cell) => cell.padStart(12)).join(''))
}
