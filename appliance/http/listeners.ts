/** The sockets under the server: several addresses, time limits, answers to what is not HTTP, and a clean end. */
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { refuse, type RefusalKey } from '../mail/refusals.ts'
import { bindServer, formatHostPort } from '../wire/listeners.ts'
import { errorBody } from './errors.ts'
import { speakTls, type TlsSide } from './tls-listener.ts'

/** Slow senders of headers hold a socket for this long at most (milliseconds). */
const HEADERS_TIMEOUT = 20_000
/** A request of 40 MB over 1 Mbit/s takes 320 s. */
const REQUEST_TIMEOUT = 360_000
/** Longer than the idle time of common load balancers (60 s), so that they close first and no request is lost. */
const KEEP_ALIVE = 65_000
/** What a stop waits for requests that are being answered. */
const GRACE = 10_000

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

/** @param key of the configuration that the addresses are from */
export function createListeners(handle: RequestListener, key = 'http.listen'): Listeners {
  const servers: Server[] = []
  return {
    async listen(addresses, door = { key, tls: null, handle }) {
      const origins: string[] = []
      try {
        for (const address of addresses) {
          const server = httpServer(door.handle)
          if (door.tls) speakTls(server, door.tls)
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

function httpServer(handle: RequestListener): Server {
  const answerRequest: RequestListener = (request, response) => {
    if (isForOneHost(request)) handle(request, response)
    else answerNoHost(response)
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
  server.on('clientError', answerBadRequest)
  // Node would refuse with a 417 that has no body. Nobody has to heed an expectation (RFC 9110 §10.1.1).
  server.on('checkExpectation', answerRequest)
  return server
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
  const body = JSON.stringify(errorBody(refusal))
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

/** Answers what Node could not read as a request. */
function answerBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal = refuse(complaints[error.code ?? ''] ?? 'malformed_request')
  const body = JSON.stringify(errorBody(refusal))
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
