/** TLS under a server of HTTP/1.1: the certificate by name, exchanged while it runs, and the answer to tls-alpn-01. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import type { Certificates } from '../wire/certificates.ts'
import { MAX_HELLO, offeredProtocols } from '../wire/client-hello.ts'

/** What a listener shows of itself. */
export interface TlsSide {
  certificates: Pick<Certificates, 'contextFor'>
  /** Answers to an authority that wants proof of a name, where there may be any. */
  challenges?: { expected(): boolean; tls(name: string): SecureContext | undefined } | undefined
}

/** How long a client may take to introduce itself (milliseconds). */
const HANDSHAKE = 10_000
/** RFC 8737 §4 */
const ACME = 'acme-tls/1'

/**
 * Makes a server that is not listening yet speak TLS with everyone who comes.
 * @param onSecure called with the plain socket and the one that speaks TLS on it, before anyone hears of the latter
 */
export function speakTls(
  server: Server,
  side: TlsSide,
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
    // A client that goes away before it said anything.
    socket.on('error', () => socket.destroy())
    void introduce(socket, side, (secure) => {
      end()
      onSecure(socket, secure)
      for (const take of takers) take.call(server, secure)
    })
  })
  const closeIdle = server.closeIdleConnections.bind(server)
  // Who has not introduced himself when the server stops has asked for nothing yet.
  server.closeIdleConnections = () => {
    for (const socket of shaking) socket.destroy()
    closeIdle()
  }
}

async function introduce(plain: Socket, side: TlsSide, done: (secure: TLSSocket) => void): Promise<void> {
  // The name callback knows no protocols: who asks for proof is told from visitors by a look at its first message.
  const { certificates, challenges } = side
  const proof = challenges?.expected() === true && (await protocolsOf(plain)).includes(ACME)
  if (plain.destroyed) return
  const contextFor = (name?: string): SecureContext | undefined =>
    proof ? challenges?.tls(name ?? '') : certificates.contextFor(name)
  const secure = new TLSSocket(plain, {
    isServer: true,
    secureContext: certificates.contextFor(),
    SNICallback: (name, answer) => {
      const context = contextFor(name)
      if (context) answer(null, context)
      else answer(new Error(`no challenge is pending for ${name}`))
    },
    ALPNProtocols: [proof ? ACME : 'http/1.1'],
  })
  // Node asks the system for it, which doesn't know any more once the client is gone; logs of the request need it then.
  Object.defineProperty(secure, 'remoteAddress', { value: plain.remoteAddress })
  // Scanners and clients that distrust the certificate end here; nobody is left to be told.
  secure.on('error', () => secure.destroy())
  secure.on('_tlsError', () => secure.destroy())
  // An end is only heard of where somebody reads; before the handshake is over there is nothing that could get lost.
  const gone = (): void => void secure.destroy()
  secure.once('end', gone).resume()
  secure.once('secure', () => {
    // RFC 8737 §3: the handshake is the whole conversation.
    if (proof) return void secure.end()
    secure.off('end', gone)
    done(secure)
  })
}

/** What a client offers, read without taking it from the stream. */
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
      const found = bytes.length > MAX_HELLO ? [] : offeredProtocols(bytes)
      if (found) finish(found)
    }
    socket.on('data', read).on('close', gone)
  })
}
