import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { decodeMessage, encodeQuery, isAnswerTo, type Message, type Question } from './message.ts'
import type { Server } from './servers.ts'

/**
 * Sends one query to one server over UDP, and over TCP when the answer is truncated.
 *
 * An off-path attacker has to guess a random id and a random source port (RFC 5452): each query has its own connected
 * socket, so the kernel drops packets from other addresses. Responses that don't match are ignored while the wait
 * continues. Timeouts use real time instead of the Clock, so that moving a test's clock doesn't cut off the network.
 */

/** The response, or a note on what happened instead that completes the sentence "the server …". */
export type QueryResult = { message: Message } | { note: string; silent: boolean }

/** How to send the query. `signal` aborts it when the resolver is closed. */
export interface QueryOptions {
  recursion: boolean
  edns: boolean
  timeoutMs: number
  signal: AbortSignal
}

/** Sends a query; repeats it over TCP after a truncated response (RFC 7766 §5), with its own timeout. Never rejects. */
export async function sendQuery(
  server: Server,
  question: Question,
  asking: QueryOptions,
): Promise<QueryResult> {
  const result = await overUdp(server, question, asking)
  return 'message' in result && result.message.truncated ? overTcp(server, question, asking) : result
}

type Settle = (result: QueryResult) => void

/** Runs `start` until it settles, times out or is aborted; `stop` then closes what was opened. */
function withDeadline(
  asking: QueryOptions,
  late: () => string,
  start: (settle: Settle) => () => void,
): Promise<QueryResult> {
  const closed = { note: 'was canceled: the resolver was closed', silent: false }
  if (asking.signal.aborted) return Promise.resolve(closed)
  return new Promise((resolve) => {
    let settled = false
    const settle: Settle = (result) => {
      // Sockets still emit errors and close events after this, and closing a UDP socket twice throws.
      if (settled) return
      settled = true
      clearTimeout(timer)
      asking.signal.removeEventListener('abort', onAbort)
      stop()
      resolve(result)
    }
    const onAbort = () => settle(closed)
    asking.signal.addEventListener('abort', onAbort)
    const timer = setTimeout(() => settle({ note: late(), silent: true }), asking.timeoutMs)
    const stop = start(settle)
  })
}

/** Decodes a response; undefined when it doesn't belong to the query, a note when it does but is malformed. */
function read(bytes: Buffer, id: number, question: Question): QueryResult | undefined {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== id) return undefined
  try {
    const message = decodeMessage(bytes)
    return isAnswerTo(message, id, question) ? { message } : undefined
  } catch {
    // The id matches, so the malformed response does come from the server.
    return { note: 'sent a malformed answer', silent: true }
  }
}

function overUdp(server: Server, question: Question, asking: QueryOptions): Promise<QueryResult> {
  const { id, bytes } = encodeQuery(question, asking)
  let ignored = 0
  const late = () =>
    `did not respond within ${asking.timeoutMs} ms` +
    (ignored > 0 ? ` (${ignored} packets that do not match the question were ignored)` : '')
  return withDeadline(asking, late, (settle) => {
    const socket = createSocket(isIPv6(server.ip) ? 'udp6' : 'udp4')
    const fail = (error: Error) => settle({ note: unreachable(error), silent: true })
    socket.on('error', fail)
    socket.on('message', (datagram) => {
      const result = read(datagram, id, question)
      if (result) settle(result)
      else ignored++
    })
    socket.connect(server.port, server.ip, (error?: Error) => {
      if (error) fail(error)
      else socket.send(bytes, (failure) => failure && fail(failure))
    })
    return () => socket.close()
  })
}

function overTcp(server: Server, question: Question, asking: QueryOptions): Promise<QueryResult> {
  const { id, bytes } = encodeQuery(question, asking)
  const late = () => `did not respond over TCP within ${asking.timeoutMs} ms`
  return withDeadline(asking, late, (settle) => {
    const socket = connect({ host: server.ip, port: server.port, noDelay: true })
    let received = Buffer.alloc(0)
    socket.on('error', (error) => settle({ note: `over TCP ${unreachable(error)}`, silent: true }))
    socket.on('close', () => settle({ note: 'closed the TCP connection without an answer', silent: true }))
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      // A two-octet length, then the message (RFC 1035 §4.2.2).
      if (received.length < 2) return
      const end = 2 + received.readUInt16BE(0)
      if (received.length < end) return
      const result = read(received.subarray(2, end), id, question)
      settle(readWhole(result))
    })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(bytes.length)
    socket.write(Buffer.concat([length, bytes]))
    return () => socket.destroy()
  })
}

/** Reads a response over TCP. Only this query uses the connection, so a wrong or truncated response is a failure. */
function readWhole(result: QueryResult | undefined): QueryResult {
  if (!result) return { note: 'answered a different question over TCP', silent: true }
  if ('message' in result && result.message.truncated) {
    return { note: 'sent a truncated answer over TCP', silent: true }
  }
  return result
}

function unreachable(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'refused the connection: nothing is listening'
  return `cannot be reached: ${error.message}`
}
