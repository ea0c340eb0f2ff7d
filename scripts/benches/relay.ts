/**
 * Measures how many messages per second are relayed: smtp-source -> server -> smtp-sink, accepted durably and signed
 * with DKIM (RSA, 2048 bits), with all per-message features on. Compares, in turns, Postfix alone, Postfix with
 * OpenDKIM, and Haraka with its DKIM plugin, with the same messages, sessions and sink. Prints tables. Needs root,
 * Postfix and OpenDKIM; perf for the fsyncs.
 * usage: ./scripts/bench relay [--rounds N] [--small N] [--large N] [--sessions N] [--only NAME]... [--no-haraka]
 * With `--only posthaste --only postgres`, compares our engines, each with its database on the same machine.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, mkdir, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs, promisify } from 'node:util'
import { freeAddress, likelyFreePort } from '../../test/world/addresses.ts'
import * as contestants from './contestants.ts'
import type { BenchmarkedServer } from './contestants.ts'
import { canCountSyncs, countSyncs, median, processorSeconds, watchMemory } from './measured.ts'
import { RECIPIENT_DOMAIN, SENDER_DOMAIN } from './real-daemon.ts'

const execute = promisify(execFile)
const { values } = parseArgs({
  allowNegative: true,
  options: {
    rounds: { type: 'string', default: '3' },
    small: { type: 'string', default: '2000' },
    large: { type: 'string', default: '400' },
    sessions: { type: 'string', default: '50' },
    only: { type: 'string', multiple: true },
    haraka: { type: 'boolean', default: true },
  },
})
const [rounds, sessions] = [Number(values.rounds), Number(values.sessions)]
/** Time limit per round in milliseconds. Slower servers are rated by the messages that they relayed until then. */
const ROUND_MS = 20_000

/** The results of one round. */
interface Round {
  accepted: number
  delivered: number
  /** Seconds of CPU time per 1000 messages. */
  processor: number
  /** Number of syncs per 1000 messages; NaN if they can't be counted. */
  syncs: number
  /** Bytes. */
  memory: number
}

await using cleanup = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'))
cleanup.defer(() => rm(folder, { recursive: true, force: true }))
const sink = await startSink()
const counting = canCountSyncs()
const all = await startAll()

console.log(
  `${availableParallelism()} cores, load average ${loadavg()[0]!.toFixed(1)}, ${sessions} sessions, ${rounds} rounds in turns`,
)
for (const { bytes, count } of [
  { bytes: 4000, count: Number(values.small) },
  { bytes: 100_000, count: Number(values.large) },
])
  await measure(bytes, count)

/** Starts Postfix's own sink, with a count of accepted messages. */
async function startSink(): Promise<contestants.Exchanger & { taken(): number }> {
  const [address, port] = [freeAddress(), likelyFreePort()]
  const child = spawn('smtp-sink', ['-c', '-u', 'nobody', `${address}:${port}`, '1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  cleanup.defer(() => void child.kill())
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text = (text + chunk.toString('latin1')).slice(-200)))
  await new Promise((resolve) => setTimeout(resolve, 200))
  return { address, port, taken: () => Number([...text.matchAll(/mesg=(\d+)/g)].at(-1)?.[1] ?? 0) }
}

async function startAll(): Promise<BenchmarkedServer[]> {
  const running: BenchmarkedServer[] = []
  const starts: Record<string, (own: string) => Promise<BenchmarkedServer>> = {
    posthaste: (own) => contestants.startPosthaste(own, sink),
    postgres: (own) => contestants.startPosthasteOnPostgres(own, sink),
    postfix: () => contestants.startPostfix('Postfix', sink, sessions),
    opendkim: (own) => contestants.startPostfixWithOpenDkim(own, sink, sessions),
    ...(values.haraka ? { haraka: (own) => contestants.startHaraka(own, sink) } : {}),
  }
  for (const [name, start] of Object.entries(starts)) {
    // PostgreSQL is measured on request, because its processes would take memory from the other servers.
    if (values.only ? !values.only.includes(name) : name === 'postgres') continue
    const own = join(folder, name)
    await mkdir(own)
    try {
      const contestant = await start(own)
      cleanup.defer(() => contestant.close())
      running.push(contestant)
    } catch (error) {
      // The other servers can still be measured.
      console.log(`${name} skipped: ${String(error).slice(0, 400)}`)
    }
  }
  return running
}

/** Runs one round of one server, from the first message sent to the last one in the sink. */
async function round({ address, roots }: BenchmarkedServer, bytes: number, count: number): Promise<Round> {
  const syncs = counting ? await countSyncs(roots) : null
  const [taken, processor, memory] = [sink.taken(), processorSeconds(roots), watchMemory(roots)]
  const envelope = [
    '-f',
    `app@${SENDER_DOMAIN}`,
    '-t',
    `ada@${RECIPIENT_DOMAIN}`,
    '-M',
    `app.${SENDER_DOMAIN}`,
  ]
  const start = performance.now()
  const counts = ['-d', '-m', String(count), '-s', String(sessions), '-l', String(bytes)]
  await execute('smtp-source', [...envelope, ...counts, `inet:${address}`], { timeout: ROUND_MS })
  const acceptedAfter = performance.now() - start
  while (sink.taken() - taken < count && performance.now() - start < ROUND_MS)
    await new Promise((resolve) => setTimeout(resolve, 5))
  const after = performance.now() - start
  const delivered = sink.taken() - taken
  const made = {
    accepted: (count / acceptedAfter) * 1000,
    delivered: (delivered / after) * 1000,
    memory: memory(),
    syncs: syncs ? ((await syncs()) / count) * 1000 : NaN,
  }
  await drained(taken + count)
  return { ...made, processor: ((processorSeconds(roots) - processor) / count) * 1000 }
}

/** Waits for the rest of a slow round, and another half second, so that it doesn't affect the next one. */
async function drained(goal: number): Promise<void> {
  const end = performance.now() + ROUND_MS
  while (sink.taken() < goal && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 50))
  await new Promise((resolve) => setTimeout(resolve, 500))
}

async function measure(bytes: number, count: number): Promise<void> {
  for (const contestant of all.slice())
    await round(contestant, bytes, Math.ceil(count / 4)).catch((error: unknown) => {
      // The other servers can still be measured.
      console.log(`${contestant.name} skipped: ${String(error).slice(0, 400)}`)
      all.splice(all.indexOf(contestant), 1)
    })
  const seen = new Map(all.map(({ name }) => [name, [] as Round[]]))
  for (let n = 0; n < rounds; n++)
    // Alternates the order, because the disk may still be busy with the previous server.
    for (const contestant of n % 2 ? all.toReversed() : all)
      seen.get(contestant.name)!.push(await round(contestant, bytes, count))
  const columns = ['accepted/s', 'delivered/s', 'CPU s/1000', 'fsyncs/1000', 'peak MB']
  console.log(
    `\n${`${bytes / 1000} kB, ${count} per round`.padEnd(22)}${columns.map((c) => c.padStart(13)).join('')}`,
  )
  for (const [name, got] of seen) {
    const middle = (key: keyof Round): number => median(got.map((one) => one[key]))
    const cells = [
      middle('accepted').toFixed(0),
      middle('delivered').toFixed(0),
      middle('processor').toFixed(2),
      Number.isNaN(middle('syncs')) ? '-' : middle('syncs').toFixed(0),
      (Math.max(...got.map(({ memory }) => memory)) / 1e6).toFixed(0),
    ]
    console.log(name.padEnd(22) + cells.map((cell) => cell.padStart(13)).join(''))
  }
  const ours = seen.get('Posthaste')
  if (!ours) return
  for (const [name, got] of seen)
    if (got !== ours) {
      const ratio = median(got.map(({ delivered }, n) => ours[n]!.delivered / delivered))
      console.log(`Posthaste / ${name}: ${ratio.toFixed(2)} (delivered, median of the rounds)`)
    }
}
