import { connect, type Socket } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import type { Failure } from './outcome.ts'

/** A TCP connection, or why there is none. */
export type Dialled =
  { kind: 'connected'; socket: Socket } | { kind: 'failed'; why: Failure['kind']; note: string }

export interface DialArgs {
  ip: string
  port: number
  /** Source address; undefined lets the system choose. */
  localAddress: string | undefined
  /** Milliseconds to wait. */
  timeout: number
}

/** What connecting can fail with, as a sentence's end. Codes of our own machine are `internal`: no remote is to blame. */
const ERRORS: Record<string, [Failure['kind'], string]> = {
  ECONNREFUSED: ['network', 'refuses connections'],
  ECONNRESET: ['network', 'reset the connection'],
  EHOSTUNREACH: ['network', 'is unreachable (no route to host)'],
  ENETUNREACH: ['network', 'is unreachable (no route to its network)'],
  ETIMEDOUT: ['timeout', 'does not respond'],
  EADDRNOTAVAIL: [
    'internal',
    'was not contacted: the sending IP is not an address of this machine (delivery.source_ips)',
  ],
  EACCES: ['internal', 'was not contacted: a local firewall blocks it'],
  EPERM: ['internal', 'was not contacted: a local firewall blocks it'],
  EMFILE: ['internal', 'was not contacted: too many open files (raise LimitNOFILE)'],
  ENFILE: ['internal', 'was not contacted: too many open files on this machine'],
}

/** Turns a socket's error into words that complete "the server …"; unknown codes are shown as they are. */
export function explainSocketError(error: Error): { why: Failure['kind']; note: string } {
  const { code, reason } = error as { code?: string; reason?: string }
  const known = ERRORS[code ?? '']
  if (known) return { why: known[0], note: known[1] }
  // `reason` is OpenSSL's: "wrong version number", "sslv3 alert handshake failure".
  return { why: 'network', note: `cannot be reached (${reason ?? code ?? error.message})` }
}

/** Connects to one address. Never rejects. */
export function dial(args: DialArgs, clock: Clock): Promise<Dialled> {
  return new Promise((resolve) => {
    const { ip, port, localAddress, timeout } = args
    const socket = connect({ host: ip, port, localAddress })
    const cancel = clock.after(timeout, () => {
      socket.destroy()
      const note = `does not respond: no connection within ${Math.round(timeout / 1000)} seconds`
      resolve({ kind: 'failed', why: 'timeout', note })
    })
    socket.once('connect', () => {
      cancel()
      resolve({ kind: 'connected', socket })
    })
    // Stays on the socket: an error between here and the conversation must not become an uncaught exception.
    socket.on('error', (error) => {
      cancel()
      resolve({ kind: 'failed', ...explainSocketError(error) })
    })
  })
}
