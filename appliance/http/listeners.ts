/** The sockets under the server: several addresses, time limits, answers to what is not HTTP, and a clean end. */
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
import { createLoopLine, type Budgets, type Connection, type Connections } from '../capacity/capacity.ts'
import { refuse, type Refusal, type RefusalKey } from '../mail/refusals.ts'
import { bindServer, formatHostPort } from '../wire/listeners.ts'
import { inNetworks, type Cidr } from '../wire/networks.ts'
import { speakTls, type TlsSide } from './tls-listener.ts'
import { watchChunks } from './torn.ts'

/** Slow senders of headers hold a socket for this long at most (milliseconds). */
const HEADERS_TIMEOUT = 20_000
/** A request of 40 MB over 1 Mbit/s takes 320 s. */
const REQUEST_TIMEOUT = 360_000
/** Longer than the idle time of common load balancers (60 s), so that they close first and no request is lost. */
const KEEP_ALIVE = 65_000
/** What a stop waits for requests that are being answered. */
const GRACE = 10_000
/** How long a client that was refused may take to read why. Then the socket is destroyed: many never close their side. */
const LAST_WORDS = 1000
/** A client that neither sends nor reads for this long is gone. Longer than `KEEP_ALIVE`; live streams say something every 15 s. */
const SILENCE = 120_000
/** Requests that a client may send before earlier ones are answered; one that sends more is cut off. */
const MOST_AHEAD = 100
/** Connections whose first requests are read in one turn of the event loop: each may have sent hundreds of them. */
const MOST_NEW = 8
/** So many octets of first requests count as one more connection. */
const NEW_OCTETS = 8 * 1024
/** A client that says nothing at first is waited for by Node, with its time limits, after so long (milliseconds). */
const MOST_SILENT = 500

/** How some addresses differ from the rest. */
export interface Door {
  /** Of the configuration that the addresses are from. */
  key: string
  /** What speaks TLS there; null: plain HTTP. */
  tls: TlsSide | null
  /** Answers there. */
  handle: RequestListener
}

export interface Listeners {
  /** Binds all addresses, `host:port`, or none of them. Returns their origins (`http://127.0.0.1:8025`); port 0 lets the system choose. */
  listen(addresses: readonly string[], door?: Door): Promise<string[]>
  /** Takes no new connections, waits for running requests, then cuts what is left. */
  close(): Promise<void>
}

/** Who may connect. */
export interface Admission {
  connections: Connections
  /** What clients may ask that is no HTTP. */
  budgets: Pick<Budgets, 'take' | 'hold'>
  /** Reverse proxies, whose connections carry requests of many clients. */
  proxies: readonly Cidr[]
}

/**
 * @param key of the configuration that the addresses are from
 * @param admission limits on connections; null: none, for listeners that only the operator's own machines reach
 */
export function createListeners(
  handle: RequestListener,
  key: string,
  admission: Admission | null,
): Listeners {
  const servers: Server[] = []
  return {
    async listen(addresses, door = { key, tls: null, handle }) {
      const origins: string[] = []
      try {
        for (const address of addresses) {
          const server = httpServer(door.handle, admission)
          if (door.tls) speakTls(server, door.tls, passOn)
          if (admission) admitOnly(server, admission, door.tls !== null)
          const bound = await bindServer(server, address, door.key)
          servers.push(server)
          origins.push(`${door.tls ? 'https' : 'http'}://${formatHostPort(bound)}`)
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

/** How a connection was counted in; undefined where connections are not counted. */
export function connectionOf(socket: Duplex): Connection | undefined {
  return admitted.get(socket)
}

/** What was counted in with the socket below belongs to the one that speaks TLS on it. */
function passOn(plain: Duplex, secure: Duplex): void {
  const connection = admitted.get(plain)
  if (connection) admitted.set(secure, connection)
}

/** Lets in who may connect, and tells the others why not. To be called last: it stands before all other takers. */
function admitOnly(server: Server, { connections, proxies }: Admission, secure: boolean): void {
  const takers = server.listeners('connection') as ((socket: Socket) => void)[]
  const inLine = createLoopLine(MOST_NEW)
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const ip = socket.remoteAddress
    // Gone before it was let in.
    if (ip === undefined) return void socket.destroy()
    const connection = connections.enter(ip, inNetworks(ip, proxies))
    if (typeof connection === 'string') {
      socket.on('error', () => socket.destroy())
      // Under TLS nothing can be said before a handshake, which is what floods are made to cost us.
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

/** Calls back once something has come, or after `ms`. */
function whenHeard(socket: Socket, ms: number, begin: () => void): void {
  if (ms === 0) return begin()
  const go = (): void => {
    clearTimeout(late)
    socket.off('readable', heard)
    begin()
  }
  const heard = (): void => {
    // Readable without an octet is the end: nothing was asked, and Node would wait for a request.
    if (socket.readableLength === 0) socket.destroy()
    else go()
  }
  const late = setTimeout(go, ms)
  late.unref()
  socket.on('readable', heard).once('close', () => clearTimeout(late))
}

/**
 * Node makes an error for each request that a closed connection leaves unanswered. Nobody reads their stacks, which take half a second
 * of processor time where hundreds of connections end at once with a hundred requests each.
 * @param take has Node listen to the socket
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

function httpServer(handle: RequestListener, admission: Admission | null): Server {
  const answerInTurn = inTurn((request, response) => {
    if (isForOneHost(request)) handle(request, response)
    else answerNoHost(response)
  })
  const answerRequest: RequestListener = (request, response) => {
    watchChunks(request)
    answerInTurn(request, response)
  }
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT,
      requestTimeout: REQUEST_TIMEOUT,
      keepAliveTimeout: KEEP_ALIVE,
      connectionsCheckingInterval: 5000,
      // Node's own refusal has no body; ours is `isForOneHost`.
      requireHostHeader: false,
    },
    answerRequest,
  )
  server.on('clientError', (error, socket) => void answerBadRequest(error, socket, admission))
  server.setTimeout(SILENCE)
  // Node would refuse with a 417 that has no body. Nobody has to heed an expectation (RFC 9110 §10.1.1).
  server.on('checkExpectation', answerRequest)
  return server
}

/**
 * Handles the requests of a connection one after the other (RFC 9112 §9.3.2). Answers to pipelined requests would otherwise pile up in
 * memory while the client reads none of them.
 */
function inTurn(handle: RequestListener): RequestListener {
  /** Requests that wait, of connections on which one is being answered. */
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
      // In the next turn of the event loop: others come between two requests of one client.
      if (next && socket.writable) setImmediate(next)
      else waiting.delete(socket)
    })
    handle(request, response)
  }
}

/** RFC 9112 §3.2. HTTP/1.0 has requests without one. */
function isForOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** Not by the socket: answers to earlier requests may still be on their way. */
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
  // A kept-alive connection becomes idle when its last answer is out; nothing tells when.
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

/** Tokens for a header that is too large: 16 KB were read and parsed, and more has come. */
const OVERSIZED = 10

/** Answers what Node could not read as a request: at once while the address has tokens for it, then like others without. */
async function answerBadRequest(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  admission: Admission | null,
): Promise<void> {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  // Node would parse all that still comes, and find the same error in each piece of it.
  socket.pause()
  const connection = admitted.get(socket)
  // A proxy carries requests of other clients as well.
  if (admission && connection?.shared === false) {
    const tokens = error.code === 'HPE_HEADER_OVERFLOW' ? OVERSIZED : 1
    if (admission.budgets.take(connection.ip, tokens) > 0) await admission.budgets.hold()
  }
  answerAndLeave(socket, refuse(complaints[error.code ?? ''] ?? 'malformed_request'))
}

/** Says why, below the framework, and closes the connection within a second, whatever the client does. */
function answerAndLeave(socket: Duplex, refusal: Refusal): void {
  const body = JSON.stringify(presentError(refusal))
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  leaveSoon(socket)
}

/** Destroys a socket that is still open in a second. */
export function leaveSoon(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LAST_WORDS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}
