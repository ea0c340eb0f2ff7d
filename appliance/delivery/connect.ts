import { connect, type Socket } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import type { Failure } from './outcome.ts'

/** A TCP connection, or the reason why connecting failed. */
export type DialResult =
  { kind: 'connected'; socket: Socket } | { kind: 'failed'; why: Failure['kind']; note: string }

export interface DialArgs {
  ip: string
  port: number
  /** Source IP; undefined lets the system choose. */
  localAddress: string | undefined
  /** Timeout in milliseconds. */
  timeout: number
  /** Aborted when Posthaste stops. */
  stopping?: AbortSignal | undefined
}

/** What a server was doing when Posthaste stopped, in words that complete "the server …". */
export const STOPPED_NOTE = 'had not answered when Posthaste stopped'

/**
 * Reasons why connecting failed, as the end of a sentence. Errors of this machine are `internal`, because no server is
 * to blame.
 */
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

/** Describes a socket error in words that complete "the server …"; shows unknown codes as they are. */
export function explainSocketError(error: Error): { why: Failure['kind']; note: string } {
  const { code, reason } = error as { code?: string; reason?: string }
  const known = ERRORS[code ?? '']
  if (known) return { why: known[0], note: known[1] }
  // `reason` is from OpenSSL: "wrong version number", "sslv3 alert handshake failure".
  return { why: 'network', note: `cannot be reached (${reason ?? code ?? error.message})` }
}

/** Connects to one IP. Never rejects. */
export function dial(args: DialArgs, clock: Clock): Promise<DialResult> {
  return new Promise((resolve) => {
    const { ip, port, localAddress, timeout, stopping } = args
    if (stopping?.aborted) return resolve({ kind: 'failed', why: 'stopped', note: STOPPED_NOTE })
    const socket = connect({ host: ip, port, localAddress })
    const end = (dialled: DialResult): void => {
      cancel()
      stopping?.removeEventListener('abort', stop)
      if (dialled.kind === 'failed') socket.destroy()
      resolve(dialled)
    }
    const cancel = clock.after(timeout, () => {
      const note = `does not respond: no connection within ${Math.round(timeout / 1000)} seconds`
      end({ kind: 'failed', why: 'timeout', note })
    })
    const stop = (): void => end({ kind: 'failed', why: 'stopped', note: STOPPED_NOTE })
    stopping?.addEventListener('abort', stop, { once: true })
    let connected = false
    socket.once('connect', () => {
      connected = true
      end({ kind: 'connected', socket })
    })
    // Stays attached: an error before the conversation begins must not become an uncaught exception.
    socket.on('error', (error) => {
      if (!connected) end({ kind: 'failed', ...explainSocketError(error) })
    })
  })
}
