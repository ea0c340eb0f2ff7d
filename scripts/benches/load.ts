/**
 * The load generator: a separate process that sends one prepared request repeatedly over keep-alive connections. It
 * uses raw sockets, because an HTTP client would use more CPU than the server under test. Reads a `LoadPlan` from its
 * argument and prints a `LoadResult`, both as JSON.
 */
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

export interface LoadPlan {
  /** IP address of the server; 127.0.0.1 by default. */
  host?: string
  port: number
  path: string
  headers: Record<string, string>
  body: string
  connections: number
  /** Number of seconds before the measurement starts. */
  warmup: number
  seconds: number
  /**
   * Number of requests per second, which are sent whether or not earlier ones have been answered. Null if each
   * connection sends as fast as it can.
   */
  rate: number | null
}

export interface LoadResult {
  /** Number of responses with status 200 in the measured period. */
  accepted: number
  /** Number of all responses with status 200, including before and after the measured period. */
  answered: number
  /** Number of responses with any other status in the measured period. */
  refused: number
  seconds: number
  /** Time from when a request was due until the last byte of its response, in milliseconds. */
  p50: number
  p99: number
}

/** A connection with at most one request in progress. */
interface Line {
  socket: Socket
  /** Time when the request in progress was due; null if there is none. */
  due: number | null
  received: string
}

const plan = JSON.parse(process.argv[2]!) as LoadPlan
const request = Buffer.from(
  [
    `POST ${plan.path} HTTP/1.1`,
    'Host: bench',
    ...Object.entries(plan.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(plan.body)}`,
    '',
    plan.body,
  ].join('\r\n'),
)

const begin = performance.now() + plan.warmup * 1000
const end = begin + plan.seconds * 1000
const latencies: number[] = []
let refused = 0
let all = 0
/** Due times of requests without a free connection. */
const backlog: number[] = []
const idle: Line[] = []

function send(line: Line, due: number): void {
  line.due = due
  line.socket.write(request)
}

/** Called for each complete response. */
function answered(line: Line, ok: boolean): void {
  const now = performance.now()
  if (ok) all++
  if (line.due! >= begin && now < end) {
    if (ok) latencies.push(now - line.due!)
    else refused++
  }
  line.due = null
  if (now >= end) return
  if (plan.rate === null) return send(line, now)
  const next = backlog.shift()
  if (next === undefined) idle.push(line)
  else send(line, next)
}

/** Parses responses, which are small and have a Content-Length. Any other response means that the server is broken. */
function receive(line: Line, chunk: string): void {
  line.received += chunk
  const head = line.received.indexOf('\r\n\r\n')
  if (head < 0) return
  const length = Number(/content-length: (\d+)/i.exec(line.received)?.[1])
  if (line.received.length < head + 4 + length) return
  const ok = line.received.startsWith('HTTP/1.1 200')
  if (!ok && refused === 0) process.stderr.write(`${line.received}\n`)
  line.received = ''
  answered(line, ok)
}

async function open(): Promise<Line> {
  const socket = connect({ port: plan.port, host: plan.host ?? '127.0.0.1', noDelay: true }).setEncoding(
    'latin1',
  )
  const line: Line = { socket, due: null, received: '' }
  socket.on('data', (chunk: string) => receive(line, chunk))
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return line
}

/** Sends at the given rate until the end. Sends several at once if the timer is late. */
async function pace(rate: number): Promise<void> {
  const start = performance.now()
  for (let sent = 0; performance.now() < end;) {
    const dueCount = Math.floor(((performance.now() - start) / 1000) * rate)
    for (; sent < dueCount; sent++) {
      const due = start + (sent / rate) * 1000
      const line = idle.pop()
      if (line) send(line, due)
      else backlog.push(due)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const lines = await Promise.all(Array.from({ length: plan.connections }, open))
if (plan.rate === null) {
  for (const line of lines) send(line, performance.now())
  await new Promise((resolve) => setTimeout(resolve, end - performance.now()))
} else {
  idle.push(...lines)
  await pace(plan.rate)
}
for (const { socket } of lines) socket.destroy()
latencies.sort((a, b) => a - b)
const quantile = (q: number) =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? NaN
const result: LoadResult = {
  accepted: latencies.length,
  answered: all,
  refused,
  seconds: plan.seconds,
  p50: quantile(0.5),
  p99: quantile(0.99),
}
process.stdout.write(JSON.stringify(result))
