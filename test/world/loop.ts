/** Measures how long this thread's event loop is blocked, and provides a client that runs in another thread. */
import { Worker } from 'node:worker_threads'

const MOST_RUNS = 8

interface LoopWatch extends Disposable {
  /**
   * Returns the longest turn so far, in milliseconds of this thread's CPU time, so that other load on the machine
   * doesn't count.
   */
  longest(): number
}

function watchLoop(): LoopWatch {
  let [before, longest, stopped] = [spent(), 0, false]
  const turn = (): void => {
    const now = spent()
    longest = Math.max(longest, now - before)
    before = now
    if (!stopped) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    longest: () => longest,
    [Symbol.dispose]: () => void (stopped = true),
  }
}

/**
 * Returns the longest turn of the event loop while `act` runs, in milliseconds of CPU time. Garbage collection or a
 * shared core can lengthen any single turn, but bad input blocks the loop every time. So it returns the minimum of up
 * to `MOST_RUNS` runs.
 * @param enough no further runs once a result is below this
 */
export async function longestTurn(act: () => Promise<void>, enough = 50): Promise<number> {
  let best = Infinity
  for (let times = 0; times < MOST_RUNS && best >= enough; times++) {
    using loop = watchLoop()
    await act()
    best = Math.min(best, loop.longest())
  }
  return best
}

function spent(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** What a client in another thread sends: `before`, then `piece` a number of times, then `after`. */
export interface Speech {
  port: number
  before: string
  piece: string
  times: number
  after: string
  /** For SMTP: lines to send first, each after a reply. */
  dialog?: string[]
}

/**
 * Runs the client in another thread. Resolves with everything the server sent until it closed the connection or `until`
 * matched.
 */
export function speak(speech: Speech, until: RegExp): Promise<string> {
  const worker = new Worker(CLIENT, { eval: true, workerData: { ...speech, until: until.source } })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
  })
}

const CLIENT = `
const { parentPort, workerData } = require('node:worker_threads')
const { port, before, piece, times, after, dialog = [], until } = workerData
const socket = require('node:net').connect({ port, host: '127.0.0.1' })
let heard = ''
const done = () => { parentPort.postMessage(heard); socket.destroy() }
const steps = [...dialog]
let speaking = dialog.length === 0
const block = Buffer.from(piece.repeat(Math.max(1, Math.ceil(65536 / Math.max(1, piece.length)))))
async function speak() {
  let go
  const drained = () => new Promise((resolve) => { go = resolve })
  socket.on('drain', () => go?.()).on('close', () => go?.())
  if (before !== '') socket.write(before)
  let left = times * piece.length
  while (left > 0 && !socket.destroyed) {
    const some = block.subarray(0, Math.min(left, block.length))
    left -= some.length
    if (!socket.write(some)) await drained()
  }
  socket.write(after)
}
socket.on('connect', () => { if (speaking) void speak() })
socket.on('data', (chunk) => {
  heard += chunk.toString('latin1')
  if (!speaking && /\\r\\n$/.test(heard) && !/^\\d{3}-[^\\n]*\\n$/.test(heard.slice(heard.lastIndexOf('\\n', heard.length - 2) + 1))) {
    const next = steps.shift()
    if (next === undefined) { speaking = true; heard = ''; void speak() }
    else { heard = ''; socket.write(next + '\\r\\n') }
    return
  }
  if (speaking && new RegExp(until).test(heard)) done()
})
socket.on('close', done)
socket.on('error', () => {})
`
