/**
 * Sends malformed and random input to the listeners. Checks that the daemon stays up, and watches its event loop, log
 * errors and memory.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freeAddress } from '../../test/world/addresses.ts'
import { generateHttpBatch, loadRoutes } from './fuzz-http.ts'
import { ENVELOPE, generateLineBatch, generateMessage } from './fuzz-smtp.ts'
import { readMemory } from './gauges.ts'
import { FuzzConnection } from './lane.ts'
import { startTarget, type RunningTarget, type Target } from './target.ts'
import { createRandomGenerator } from '../../appliance/crashtest/plan.ts'

/** Names of the parts that can be fuzzed. */
export type FuzzTarget = 'http' | 'smtp-lines' | 'smtp-messages'

/** Whether `name` is a part that can be fuzzed. */
export const isFuzzTarget = (name: string): name is FuzzTarget =>
  ['http', 'smtp-lines', 'smtp-messages'].includes(name)

export interface FuzzOptions {
  what: FuzzTarget
  /** Number of requests, command lines or messages. */
  count: number
  seed: number
}

interface Tally {
  sent: number
  /** Number of well-formed requests that got no reply. */
  unanswered: number
}

/** Number of concurrent connections. */
const LANES = 60
/** Share of the input to send before the baseline memory is measured. It is enough to fill the caches. */
const WARM_UP = 0.25
/**
 * How long the daemon is idle before its memory is measured, and how long it may take to deliver mail and free memory,
 * in milliseconds.
 */
const REST_MS = 12_000
const DELIVER_MS = 1_200_000
const GIVE_BACK_MS = 120_000
const MOST_TURN = 50
const MOST_GROWTH = 1.2
const TELL_MS = 30_000

/** Runs the fuzzer and prints the results. Resolves with whether all goals were met. */
export async function runFuzz(options: FuzzOptions): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-attack-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await using running = await startTarget({ folder, forFuzzing: true })
  const warmUp = Math.ceil(options.count * WARM_UP)
  await send(running, { ...options, count: warmUp, seed: options.seed + 1 })
  await nothingDue(running)
  const rest = readMemory(running.pid).now
  running.longestTurn()
  const begin = performance.now()
  const { tally, counts } = await send(running, options)
  const seconds = (performance.now() - begin) / 1000
  const turn = running.longestTurn()
  const after = await settledMemory(running, rest)
  const errors = (await running.log()).split('\n').filter((line) => line.includes('"level":"error"'))
  const replies = [...counts].toSorted().map(([kind, times]) => `${times} ${kind}xx`)
  console.log(
    `${options.what}: ${tally.sent} sent in ${seconds.toFixed(0)} s, seed ${options.seed}; replies: ${replies.join(', ')}\n` +
      `memory at rest ${mb(rest)}, highest ${mb(readMemory(running.pid).peak)}, after ${mb(after)}; longest turn ${turn.toFixed(0)} ms`,
  )
  const missed = [
    ...(running.ended() === null ? [] : [`the daemon ended with ${running.ended()}`]),
    ...(tally.unanswered > 0 ? [`${tally.unanswered} well-formed batches were not answered`] : []),
    ...(turn > MOST_TURN ? [`a turn of the event loop took more than ${MOST_TURN} ms`] : []),
    ...(after > rest * MOST_GROWTH ? ['memory is more than 20% above that at rest'] : []),
    ...(errors.length > 0
      ? [`${errors.length} errors in the log, the first: ${errors[0]!.slice(0, 1000)}`]
      : []),
  ]
  for (const one of missed) console.log(`MISSED: ${one}`)
  return missed.length === 0
}

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

async function settledMemory(running: RunningTarget, rest: number): Promise<number> {
  const { pid } = running
  await nothingDue(running)
  const end = performance.now() + GIVE_BACK_MS
  while (readMemory(pid).now > rest * MOST_GROWTH && performance.now() < end) await pause(1000)
  return readMemory(pid).now
}

/** Waits until no delivery is in flight or due, because the daemon is busy until then. */
async function nothingDue(running: RunningTarget): Promise<void> {
  const { host, metrics } = running.target
  const end = performance.now() + DELIVER_MS
  do {
    await pause(REST_MS)
    const response = await fetch(`http://${host}:${metrics}/metrics`).catch(() => null)
    const gauges = (await response?.text()) ?? ''
    const busy = [...gauges.matchAll(/^posthaste_(?:deliveries_in_flight|spool_due_seconds)\S* (\S+)/gm)]
    if (busy.length > 0 && busy.every(([, value]) => value === '0')) return
  } while (performance.now() < end && running.ended() === null)
}

async function send(running: RunningTarget, { what, count, seed }: FuzzOptions) {
  const { target } = running
  const tally: Tally = { sent: 0, unanswered: 0 }
  const counts = new Map<string, number>()
  const timer = setInterval(
    () => console.error(`${tally.sent} of ${count}, ${mb(readMemory(running.pid).now)}`),
    TELL_MS,
  )
  const next = await batches(what, target)
  await Promise.all(
    Array.from({ length: LANES }, async (_, n) => {
      const share = Math.floor(count / LANES) + (n < count % LANES ? 1 : 0)
      const lane = laneOf(what, target)
      const dice = createRandomGenerator(seed * 1000 + n)
      for (let left = share; left > 0 && running.ended() === null;) {
        const sent = await next(lane, dice, left, tally)
        left -= sent
        tally.sent += sent
      }
      lane.close()
      for (const [kind, times] of lane.counts) counts.set(kind, (counts.get(kind) ?? 0) + times)
    }),
  )
  clearInterval(timer)
  return { tally, counts }
}

/**
 * Creates a lane whose connections come from separate addresses, because addresses that send nonsense get banned, which
 * would end the test.
 */
function laneOf(what: FuzzTarget, { host, http, starttls, trusted }: Target): FuzzConnection {
  if (what === 'http')
    return new FuzzConnection({
      host,
      port: () => http,
      address: freeAddress,
      reply: /HTTP\/1\.1 (\d)\d\d /g,
    })
  let connections = 0
  const port = (): number => (what === 'smtp-lines' && connections++ % 2 === 0 ? starttls : trusted)
  return new FuzzConnection({ host, port, address: freeAddress, reply: /(\d)\d\d [^\r\n]*\r\n/g })
}

type Next = (
  lane: FuzzConnection,
  dice: ReturnType<typeof createRandomGenerator>,
  left: number,
  tally: Tally,
) => Promise<number>

async function batches(what: FuzzTarget, target: Target): Promise<Next> {
  if (what === 'smtp-messages') return nextMessage
  if (what === 'smtp-lines')
    return async (lane, dice, left) => {
      if (!lane.open) await lane.say(Buffer.alloc(0), 1, true)
      const { octets, count } = generateLineBatch(dice, left)
      await lane.say(octets, count, false)
      return count
    }
  const routes = await loadRoutes(target)
  return async (lane, dice, left, tally) => {
    const { octets, count, tidy } = generateHttpBatch(dice, target, routes, left)
    if ((await lane.say(octets, count, tidy)) === 'silent' && tidy) {
      tally.unanswered++
      const requests = octets.toString('latin1').match(/^[A-Z]+ \/.* HTTP\/1\.1\r$/gm) ?? []
      console.error(`no answer to ${requests.at(-lane.missing)}`)
    }
    // The daemon may still be waiting for the rest of a damaged body, and would read the next batch as part of it.
    if (!tidy) lane.close()
    return count
  }
}

const nextMessage: Next = async (lane, dice, _left, tally) => {
  if (!lane.open) {
    await lane.say(Buffer.alloc(0), 1, true)
    await lane.say(Buffer.from('EHLO client.example\r\n'), 1, true)
  }
  const message = generateMessage(dice)
  const begun = await lane.say(ENVELOPE, 4, true)
  const ended = begun === 'all' ? await lane.say(message, 1, true) : begun
  if (ended === 'silent') tally.unanswered++
  return 1
}
