/** TLS for an HTTP/1.1 server: selects certificates by name, replaces them at run time, and responds to tls-alpn-01. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import type { Certificates } from '../wire/certificates.ts'
import { MAX_HELLO, parseOfferedProtocols } from '../wire/client-hello.ts'

/** Certificates of a listener. */
export interface ListenerTls {
  certificates: Pick<Certificates, 'contextFor'>
  /** Responses to ACME challenges, if there can be any. */
  challenges?: { expected(): boolean; tls(name: string): Promise<SecureContext | undefined> } | undefined
}

/** Timeout of the handshake, in milliseconds. */
const HANDSHAKE = 10_000
/** The ALPN protocol of tls-alpn-01 (RFC 8737 §4). */
const ACME = 'acme-tls/1'

/**
 * Adds TLS to a server that isn't listening yet.
 * @param onSecure called with the plain socket and its TLS socket, before any other code uses the latter
 */
export function addTls(
  server: Server,
  side: ListenerTls,
  onSecure: (plain: Socket, secure: TLSSocket) => void,
): void {
  const takers = server.listeners('connection') as ((socket: Socket) => void)[]
  const shaking = new Set<Socket>()
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const cut = setTimeout(() => socket.destroy(), HANDSHAKE)
    shaking.add(socket)
    const end = (): void => {
      clearTimeout(cut)
      shaking.delete(socket)
    }
    socket.once('close', end)
    // The client disconnected before it sent anything.
    socket.on('error', () => socket.destroy())
    void introduce(socket, side, (secure) => {
      end()
      onSecure(socket, secure)
      for (const take of takers) take.call(server, secure)
    })
  })
  const closeIdle = server.closeIdleConnections.bind(server)
  // A client without a finished handshake has requested nothing yet.
  server.closeIdleConnections = () => {
    for (const socket of shaking) socket.destroy()
    closeIdle()
  }
}

async function introduce(plain: Socket, side: ListenerTls, done: (secure: TLSSocket) => void): Promise<void> {
  // The SNI callback doesn't know the ALPN protocols, so ACME validation is recognized in the ClientHello.
  const { certificates, challenges } = side
  const proof = challenges?.expected() === true && (await protocolsOf(plain)).includes(ACME)
  if (plain.destroyed) return
  const secure = new TLSSocket(plain, {
    isServer: true,
    secureContext: certificates.contextFor(),
    SNICallback: (name, answer) => {
      if (!proof) return answer(null, certificates.contextFor(name))
      const missing = (): void => answer(new Error(`no challenge is pending for ${name}`))
      // The database may be down, which its own log lines say.
      challenges.tls(name).then((context) => (context ? answer(null, context) : missing()), missing)
    },
    ALPNProtocols: [proof ? ACME : 'http/1.1'],
  })
  // Node would query the operating system, which forgets the address when the client disconnects. The request's log
  // line still needs it.
  Object.defineProperty(secure, 'remoteAddress', { value: plain.remoteAddress })
  // Scanners and clients that reject the certificate end up here; there is no one to report to.
  secure.on('error', () => secure.destroy())
  secure.on('_tlsError', () => secure.destroy())
  // The end of a connection is only noticed while reading. Until the handshake is complete, no data can get lost by
  // that.
  const gone = (): void => void secure.destroy()
  secure.once('end', gone).resume()
  secure.once('secure', () => {
    // The handshake is the whole validation (RFC 8737 §3).
    if (proof) return void secure.end()
    secure.off('end', gone)
    done(secure)
  })
}

/** Reads the protocols that a client offers, without consuming them from the stream. */
function protocolsOf(socket: Socket): Promise<string[]> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0)
    const finish = (protocols: string[]): void => {
      socket.off('data', read).off('close', gone)
      socket.pause()
      if (bytes.length > 0) socket.unshift(bytes)
      resolve(protocols)
    }
    const gone = (): void => finish([])
    const read = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk])
      const found = bytes.length > MAX_HELLO ? [] : parseOfferedProtocols(bytes)
      if (found) finish(found)
    }
    socket.on('data', read).on('close', gone)
  })
}
