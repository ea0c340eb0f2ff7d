import type { Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { getSteadyTime, type Clock } from '../clock/clock.ts'
import type { Reply } from '../mail/reply.ts'
import { CLOSE_DEADLINE } from './deadlines.ts'
import { explainSocketError, STOPPED_NOTE } from './connect.ts'
import type { Failure } from './outcome.ts'
import { ReplyReader } from './reply-reader.ts'

/**
 * Thrown within a conversation when the connection has become unusable. Converted to a value at the end of the
 * conversation.
 */
export class ConnectionBrokenError extends Error {
  readonly kind: Failure['kind']

  /** @param note what happened, in words that complete "the server …" */
  constructor(kind: Failure['kind'], note: string) {
    super(note)
    this.name = 'ConnectionBrokenError'
    this.kind = kind
  }
}

/**
 * A connected socket for SMTP: writes lines, reads replies, with a timeout for each wait. Replies received before the
 * connection broke can still be read. nodemailer's client was tried and isn't used: docs/decisions/0005.
 */
export class SmtpClientSocket {
  /** Overall deadline in milliseconds of the steady clock, which also limits the timeout of each step. */
  until: number
  /** Resolves when the socket is closed, so that the server no longer counts it. */
  readonly closed: Promise<void>
  /** Our own IP. */
  readonly localAddress: string | null
  readonly #clock: Clock
  readonly #reader = new ReplyReader()
  #socket: Socket
  #broken: ConnectionBrokenError | undefined
  readonly #gone: () => void
  #wake = (): void => undefined
  #unlisten = (): void => undefined

  /** @param stopping aborted when Posthaste stops, which destroys the socket and ends pending reads */
  constructor(socket: Socket, clock: Clock, until: number, stopping?: AbortSignal) {
    this.#clock = clock
    this.until = until
    this.#socket = socket
    this.localAddress = socket.localAddress ?? null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#gone = resolve
    this.#listen(socket)
    if (stopping) this.#heed(stopping)
  }

  /** Sends whole lines including their CRLFs, in one segment if they fit. */
  write(lines: string): void {
    if (!this.#broken) this.#socket.write(lines)
  }

  /** Reads the next reply. Throws Broken when none arrives within `ms` milliseconds, or the connection breaks. */
  async read(ms: number): Promise<Reply> {
    await this.#when(() => this.#reader.waiting > 0, ms)
    return this.#reader.take()!
  }

  /** Reads a reply regardless of the overall deadline. */
  async readAnyway(ms: number): Promise<Reply> {
    this.until = Math.max(this.until, getSteadyTime(this.#clock) + ms)
    return this.read(ms)
  }

  /** Whether a reply has arrived. */
  get answered(): boolean {
    return this.#reader.waiting > 0
  }

  /** Whether the connection is open and the server has sent nothing unsolicited, not even part of a line. */
  get quiet(): boolean {
    return !this.#broken && !this.answered && !this.#reader.partial
  }

  /** Marks the connection as idle. Calls `stirred` when bytes arrive or the connection ends meanwhile. */
  rest(stirred: () => void): void {
    this.#wake = stirred
  }

  /**
   * Sends one block of the body, and waits until the system accepts it or the server sends something. A server
   * shouldn't send anything before the final dot, so the caller checks for a reply.
   */
  async writeBlock(block: Uint8Array, ms: number): Promise<void> {
    let taken = false
    this.#socket.write(block, (error) => {
      taken = !error
      this.#wake()
    })
    await this.#when(() => taken || this.answered, ms)
  }

  /** Runs the TLS handshake after STARTTLS (RFC 3207). The caller checks the certificate. */
  async upgrade(options: ConnectionOptions, ms: number): Promise<TLSSocket> {
    // Plaintext after the reply would be read as if it had come through TLS, which allows command injection.
    if (this.answered || this.#reader.partial) {
      throw new ConnectionBrokenError('tls', 'sent extra data before the TLS handshake')
    }
    this.#unlisten()
    const socket = connectTls({ ...options, socket: this.#socket })
    this.#socket = socket
    let agreed = false
    socket.once('secureConnect', () => {
      agreed = true
      this.#wake()
    })
    this.#listen(socket)
    await this.#when(() => agreed, ms)
    return socket
  }

  /** Closes without QUIT. */
  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Sends QUIT, and closes when the server has replied and closed, or after `ms` milliseconds. Returns at once. Waiting
   * lets a server that limits connections stop counting this one before the next one opens.
   */
  quit(ms: number): void {
    if (this.#broken) return this.destroy()
    this.until = getSteadyTime(this.#clock) + ms + CLOSE_DEADLINE
    this.write('QUIT\r\n')
    this.read(ms)
      .then(() => this.#when(() => false, CLOSE_DEADLINE))
      // Destroy the socket however the wait ends.
      .catch(() => this.destroy())
  }

  #listen(socket: Socket): void {
    const data = (chunk: Buffer): void => {
      if (this.#broken) return
      const complaint = this.#reader.feed(chunk)
      if (complaint) this.#break(new ConnectionBrokenError('protocol', complaint))
      this.#wake()
    }
    const ended = (): void => this.#break(new ConnectionBrokenError('network', 'closed the connection'))
    const closed = (): void => {
      ended()
      this.#gone()
    }
    socket.setNoDelay(true)
    socket.on('data', data).on('end', ended).on('close', closed)
    socket.on('error', (error) => {
      const { why, note } = explainSocketError(error)
      this.#break(new ConnectionBrokenError(why, note))
    })
    // Keep the error listener: a socket below TLS may still fail, and must not crash the process.
    this.#unlisten = () => void socket.off('data', data).off('end', ended).off('close', closed)
    if (socket.destroyed) closed() // closed before this listener was added
  }

  #heed(stopping: AbortSignal): void {
    const stop = (): void => {
      this.#break(new ConnectionBrokenError('stopped', STOPPED_NOTE))
      this.#socket.destroy()
    }
    if (stopping.aborted) return stop()
    stopping.addEventListener('abort', stop, { once: true })
    void this.closed.then(() => stopping.removeEventListener('abort', stop))
  }

  #break(broken: ConnectionBrokenError): void {
    this.#broken ??= broken
    if (broken.kind === 'protocol') this.#socket.destroy()
    this.#wake()
  }

  /** Waits for a condition; throws when the connection breaks or `ms` milliseconds have passed. */
  async #when(condition: () => boolean, ms: number): Promise<void> {
    const { promise: late, resolve: timeout } = Promise.withResolvers<void>()
    const granted = Math.min(ms, Math.max(0, this.until - getSteadyTime(this.#clock)))
    const cancel = this.#clock.after(granted, () => {
      const seconds = Math.round(granted / 1000)
      this.#break(new ConnectionBrokenError('timeout', `did not reply within ${seconds} seconds`))
      timeout()
    })
    try {
      while (!condition()) {
        if (this.#broken) throw this.#broken
        const { promise: woken, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        await Promise.race([woken, late])
      }
    } finally {
      cancel()
    }
  }
}
