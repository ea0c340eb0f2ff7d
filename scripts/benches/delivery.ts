/**
 * Measures how many messages per second are delivered to a local server that accepts everything: with new and with
 * reused connections, in plain text and over TLS, in turns. Covers only the SMTP conversation: no spool, no DNS, no
 * signing. Prints a table.
 * usage: ./scripts/bench delivery [--rounds N] [--messages N] [--connections N] [--bytes N]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { availableParallelism } from 'node:os'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { createConnections } from '../../appliance/delivery/connections.ts'
import { prepareMessage } from '../../appliance/delivery/message.ts'
import { createRecorder } from '../../appliance/delivery/recorder.ts'
import type { Sink } from './delivery-sink.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '2000' },
    connections: { type: 'string', default: '10' },
    bytes: { type: 'string', default: '4000' },
  },
})
const [rounds, messages, workers, bytes] = [
  values.rounds,
  values.messages,
  values.connections,
  values.bytes,
].map(Number) as [number, number, number, number]

await using cleanup = new AsyncDisposableStack()
const ways = ['plain text', 'TLS'] as const
const kinds = { 'a connection each': 1, 'connections kept': 100 }
type Kind = keyof typeof kinds
const sinks = { 'plain text': await startSink('plain'), TLS: await startSink('tls') }
const line = `${'x'.repeat(76)}\r\n`
const message = await prepareMessage(
  Buffer.alloc(0),
  Buffer.from(`Subject: x\r\n\r\n${line.repeat(Math.ceil(bytes / 78))}`),
)

console.log(
  `${availableParallelism()} cores, ${messages} messages of ${message.bytes.length} bytes per round, ${workers} at once`,
)
for (const way of ways) await measure(way)

async function startSink(how: string): Promise<Sink> {
  const script = join(import.meta.dirname, 'delivery-sink.ts')
  const child = spawn(process.execPath, [script, how], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  cleanup.defer(() => void child.kill('SIGKILL'))
  const [sink] = (await once(child, 'message')) as [Sink]
  child.unref()
  return sink
}

/** Delivers one round. Returns messages per second, and CPU time per message in microseconds. */
async function round(sink: Sink, kind: Kind): Promise<{ rate: number; time: number }> {
  const connections = createConnections({ clock })
  let left = messages
  const worker = async () => {
    while (left-- > 0) {
      const now = clock.now()
      const said = await connections.converse(
        {
          host: 'sink.test',
          ip: sink.address,
          port: sink.port,
          localAddress: undefined,
          hostname: 'bench.test',
          from: 'a@bench.test',
          recipients: ['b@sink.test'],
          message,
          sevenBit: async () => message,
          demand: { kind: 'opportunistic' },
          until: now + 60_000,
          idleMs: 10_000,
          mailTurn: () => 0,
          lane: { key: 'bench', connections: workers },
          messagesPerConnection: kinds[kind],
        },
        createRecorder(clock, now),
      )
      const fate = said.outcome.get('b@sink.test')
      if (fate?.kind !== 'accepted') throw new Error(JSON.stringify(fate))
    }
  }
  const [before, start] = [process.cpuUsage(), performance.now()]
  await Promise.all(Array.from({ length: workers }, worker))
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  await connections.close()
  return { rate: messages / seconds, time: (user + system) / messages }
}

async function measure(way: (typeof ways)[number]): Promise<void> {
  const names = Object.keys(kinds) as Kind[]
  const rates: Record<string, number[]> = {}
  const times: Record<string, number[]> = {}
  for (const kind of names) await round(sinks[way], kind)
  for (let at = 0; at < rounds; at++) {
    // Alternates the order, in case the machine is temporarily busy with something else.
    for (const kind of at % 2 ? names : names.toReversed()) {
      const { rate, time } = await round(sinks[way], kind)
      ;(rates[kind] ??= []).push(rate)
      ;(times[kind] ??= []).push(time)
    }
  }
  const ratio = median(rates[names[1]!]!.map((rate, at) => rate / rates[names[0]!]![at]!))
  console.log(`\n${way.padEnd(20)} delivered/s (median)`)
  for (const kind of names) {
    const rate = median(rates[kind]!).toFixed(0).padStart(12)
    console.log(
      `${kind.padEnd(20)}${rate}     ${median(times[kind]!).toFixed(0)} us of Posthaste's processor time per message`,
    )
  }
  console.log(`${'reused / new'.padEnd(20)}${ratio.toFixed(2).padStart(12)}     (median of the rounds)`)
}

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}
