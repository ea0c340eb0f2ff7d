/**
 * The sockets of the HTTP server: several addresses, timeouts, responses to requests that aren't HTTP, and a clean
 * shutdown.
 */
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { presentError } from '../api/shared.ts'
import { createLoopQueue, type Budgets, type Connection, type Connections } from '../capacity/capacity.ts'
import { refuse, type Refusal, type RefusalKey } from '../mail/refusals.ts'
import { bindServer, formatHostPort } from '../wire/listeners.ts'
import { isInNetworks, type Cidr } from '../wire/networks.ts'
import { addTls, type ListenerTls } from './tls-listener.ts'
import { countChunks } from './tiny-chunks.ts'

/** Timeout for receiving the headers, in milliseconds. */
const HEADERS_TIMEOUT = 20_000
/** Timeout for receiving a request, in milliseconds; 40 MB at 1 Mbit/s take 320 s. */
const REQUEST_TIMEOUT = 360_000
/**
 * Timeout of an idle connection in milliseconds. Longer than that of common load balancers (60 s), so that they close
 * first and no request is lost.
 */
const KEEP_ALIVE = 65_000
/** How long a shutdown waits for running requests, in milliseconds. */
const GRACE = 10_000
/**
 * How long a refused client has to read the response, in milliseconds. Then the socket is destroyed, because many
 * clients never close it.
 */
const LAST_WORDS = 1000
/**
 * Timeout for a client that neither sends nor reads, in milliseconds. Longer than `KEEP_ALIVE`; live streams send
 * something every 15 s.
 */
const SILENCE = 120_000
/** Maximum number of pipelined requests. A client that sends more is disconnected. */
const MOST_AHEAD = 100
/** Maximum number of new connections processed per turn of the event loop. Each may have sent hundreds of requests. */
const MOST_NEW = 8
/** Number of octets of first requests that count as one more connection. */
const NEW_OCTETS = 8 * 1024
/** Time after which a client that has sent nothing is passed to Node, with Node's timeouts, in milliseconds. */
const MOST_SILENT = 500

/** How a set of addresses is handled. */
export interface ListenerOptions {
  /** The configuration key of the addresses. */
  key: string
  /** TLS settings; null for plain HTTP. */
  tls: ListenerTls | null
  /** Handles requests. */
  handle: RequestListener
}

export interface Listeners {
  /**
   * Binds all addresses (`host:port`) or none. Returns their origins (`http://127.0.0.1:8025`); port 0 lets the system
   * choose.
   */
  listen(addresses: readonly string[], options?: ListenerOptions): Promise<string[]>
  /** Accepts no new connections, waits for running requests, then closes the rest. */
  close(): Promise<void>
}

/** Limits on who may connect. */
export interface ConnectionPolicy {
  connections: Connections
  /** Budgets of addresses, used up by requests that aren't valid HTTP. */
  budgets: Pick<Budgets, 'take' | 'hold'>
  /** Reverse proxies, whose connections carry requests of many clients. */
  proxies: readonly Cidr[]
}

/**
 * Creates the listeners.
 * @param key the configuration key of the addresses
 * @param admission limits on connections; null for none, on listeners that only the operator's machines can reach
 */
export function createListeners(
  handle: RequestListener,
  key: string,
  admission: ConnectionPolicy | null,
): Listeners {
  const servers: Server[] = []
  return {
    async listen(addresses, options = { key, tls: null, handle }) {
      const origins: string[] = []
      try {
        for (const address of addresses) {
          const server = httpServer(options.handle, admission)
          if (options.tls) addTls(server, options.tls, passOn)
          if (admission) admitOnly(server, admission, options.tls !== null)
          const bound = await bindServer(server, address, options.key)
          servers.push(server)
          origins.push(`${options.tls ? 'https' : 'http'}://${formatHostPort(bound)}`)
        }
      } catch (error) {
        for (const server of servers.splice(0)) server.close()
        throw error
      }
      return origins
    },
    close: async () => void (await Promise.all(servers.splice(0).map(drain))),
  }
}

const admitted = new WeakMap<Duplex, Connection>()

/** Returns the counted connection of a socket; undefined when connections aren't counted. */
export function getConnection(socket: Duplex): Connection | undefined {
  return admitted.get(socket)
}

/** Transfers the count of a plain socket to the TLS socket on it. */
function passOn(plain: Duplex, secure: Duplex): void {
  const connection = admitted.get(plain)
  if (connection) admitted.set(secure, connection)
}

/** Refuses connections above the limits. Call it last, so that it runs before all other connection handlers. */
function admitOnly(server: Server, { connections, proxies }: ConnectionPolicy, secure: boolean): void {
  const takers = server.listeners('connection') as ((socket: Socket) => void)[]
  const inLine = createLoopQueue(MOST_NEW)
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const ip = socket.remoteAddress
    // The client disconnected before it was admitted.
    if (ip === undefined) return void socket.destroy()
    const connection = connections.enter(ip, isInNetworks(ip, proxies))
    if (typeof connection === 'string') {
      socket.on('error', () => socket.destroy())
      // With TLS, a response would require the handshake, whose cost is what a flood aims at.
      if (secure) socket.destroy()
      else answerAndLeave(socket, refuse(`connections_${connection}`))
      return
    }
    admitted.set(socket, connection)
    socket.once('close', () => connection.leave())
    const broken = (): void => void socket.destroy()
    socket.on('error', broken)
    whenHeard(socket, secure ? 0 : MOST_SILENT, () =>
      inLine(
        () => {
          socket.off('error', broken)
          if (!socket.destroyed)
            abortCheaply(socket, () => takers.forEach((take) => take.call(server, socket)))
        },
        1 + Math.floor(socket.readableLength / NEW_OCTETS),
      ),
    )
  })
}

/** Calls back once data has arrived, or after `ms`. */
function whenHeard(socket: Socket, ms: number, begin: () => void): void {
  if (ms === 0) return begin()
  const go = (): void => {
    clearTimeout(late)
    socket.off('readable', heard)
    begin()
  }
  const heard = (): void => {
    // Readable without data means that the client has closed its side without a request. Node would keep waiting for
    // one.
    if (socket.readableLength === 0) socket.destroy()
    else go()
  }
  const late = setTimeout(go, ms)
  late.unref()
  socket.on('readable', heard).once('close', () => clearTimeout(late))
}

/**
 * Avoids the error that Node creates for each unanswered request of a closed connection. Their stack traces, which are
 * never read, take half a second of CPU time when hundreds of connections with a hundred requests each end at the same
 * time.
 * @param take makes Node listen to the socket
 */
function abortCheaply(socket: Socket, take: () => void): void {
  let limit = Error.stackTraceLimit
  socket.once('close', () => {
    limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
  })
  take()
  socket.once('close', () => void (Error.stackTraceLimit = limit))
}

function httpServer(handle: RequestListener, admission: ConnectionPolicy | null): Server {
  const answerInTurn = inTurn((request, response) => {
    if (isForOneHost(request)) handle(request, response)
    else answerNoHost(response)
  })
  const answerRequest: RequestListener = (request, response) => {
    countChunks(request)
    answerInTurn(request, response)
  }
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      keepAliveTimeout: KEEP_ALIVE,
      connectionsCheckingInterval: 5000,
      // Node's own refusal has no body. `isForOneHost` makes this check instead.
      requireHostHeader: false,
    },
    answerRequest,
  )
  server.on('clientError', (error, socket) => void answerBadRequest(error, socket, admission))
  server.setTimeout(SILENCE)
  // Node would refuse with a 417 without a body. An expectation may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', answerRequest)
  return server
}

/**
 * Handles the requests of a connection one after the other (RFC 9112 §9.3.2). Otherwise, responses to pipelined
 * requests would pile up in memory while the client isn't reading.
 */
function inTurn(handle: RequestListener): RequestListener {
  /** Waiting requests, by connection with a request in progress. */
  const waiting = new WeakMap<Duplex, (() => void)[]>()
  return (request, response) => {
    const { socket } = request
    const before = waiting.get(socket)
    if (before) {
      if (before.length < MOST_AHEAD) before.push(() => begin(request, response))
      else socket.destroy()
    } else {
      waiting.set(socket, [])
      begin(request, response)
    }
  }
  function begin(...[request, response]: Parameters<RequestListener>): void {
    const { socket } = request
    response.once('close', () => {
      const next = waiting.get(socket)?.shift()
      // In the next turn of the event loop, so that requests of other clients run between two requests of one client.
      if (next && socket.writable) setImmediate(next)
      else waiting.delete(socket)
    })
    handle(request, response)
  }
}

/** Whether a request has exactly one Host header (RFC 9112 §3.2), which HTTP/1.0 doesn't require. */
function isForOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** Responds through the response object, because earlier responses may still be in progress on the socket. */
function answerNoHost(response: ServerResponse): void {
  const refusal = refuse('one_host')
  const body = JSON.stringify(presentError(refusal))
  response.writeHead(refusal.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}

async function drain(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  // A connection becomes idle when its last response is complete, but there is no event for that.
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const cut = setTimeout(() => server.closeAllConnections(), GRACE)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}

const complaints: Record<string, RefusalKey> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Number of tokens for headers that are too large, because 16 KB were parsed and more has arrived. */
const OVERSIZED = 10

/** Responds to requests that Node couldn't parse: immediately while the address has tokens, otherwise delayed. */
async function answerBadRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  admission: ConnectionPolicy | null,
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  // Node would parse all further chunks, and find the same error in each.
  socket.pause()
  const connection = admitted.get(socket)
  // A proxy's connection also carries requests of other clients.
  if (admission && connection?.shared === false) {
    const tokens = error.code === 'HPE_HEADER_OVERFLOW' ? OVERSIZED : 1
    if (admission.budgets.take(connection.ip, tokens) > 0) await admission.budgets.hold()
  }
  answerAndLeave(socket, refuse(complaints[error.code ?? ''] ?? 'malformed_request'))
}

/** Writes a refusal directly to the socket, and closes the connection within a second. */
function answerAndLeave(socket: Duplex, refusal: Refusal): void {
  const body = JSON.stringify(presentError(refusal))
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  destroySoon(socket)
}

/** Destroys a socket that is still open after a second. */
export function destroySoon(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LAST_WORDS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}
