import type { Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { steady, type Clock } from '../clock/clock.ts'
import type { Reply } from '../mail/reply.ts'
import { CLOSING } from './deadlines.ts'
import { explainSocketError, STOPPED } from './dial.ts'
import type { Failure } from './outcome.ts'
import { ReplyReader } from './reply-reader.ts'

/** The connection is of no use any more. Thrown within a conversation, and turned into a value where that ends. */
export class Broken extends Error {
  readonly kind: Failure['kind']

  /** @param note what happened, in words that complete "the server …" */
  constructor(kind: Failure['kind'], note: string) {
    super(note)
    this.name = 'Broken'
    this.kind = kind
  }
}

/**
 * A connected socket as SMTP sees it: lines go out, replies come in, each wait has its deadline. What has arrived before the
 * connection broke can still be read. nodemailer's client was tried for this and is not used: docs/decisions/0005.
 */
export class SmtpWire {
  /** When all must be over (Unix milliseconds), whatever a single step is granted. */
  until: number
  /** Resolves when the socket is gone, and no longer counts at the server. */
  readonly closed: Promise<void>
  /** Our own address. */
  readonly localAddress: string | null
  readonly #clock: Clock
  readonly #reader = new ReplyReader()
  #socket: Socket
  #broken: Broken | undefined
  readonly #gone: () => void
  #wake = (): void => undefined
  #unlisten = (): void => undefined

  /** @param stopping aborted when Posthaste stops; this destroys the socket and ends pending reads */
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

  /** Sends whole lines, given with their CRLFs, in one segment where they fit. */
  write(lines: string): void {
    if (!this.#broken) this.#socket.write(lines)
  }

  /** The next reply. Throws Broken when none comes in `ms` milliseconds, or ever. */
  async read(ms: number): Promise<Reply> {
    await this.#when(() => this.#reader.waiting > 0, ms)
    return this.#reader.take()!
  }

  /** The same for a reply that is waited for whatever the time until which all must be over. */
  async readAnyway(ms: number): Promise<Reply> {
    this.until = Math.max(this.until, steady(this.#clock) + ms)
    return this.read(ms)
  }

  /** Whether a reply is there already. */
  get answered(): boolean {
    return this.#reader.waiting > 0
  }

  /** Whether the connection stands and the server has said nothing, not half a line, that was not asked for. */
  get quiet(): boolean {
    return !this.#broken && !this.answered && !this.#reader.partial
  }

  /** Calls `stirred` whenever something happens to the connection while nobody reads: bytes came, or it ended. */
  rest(stirred: () => void): void {
    this.#wake = stirred
  }

  /**
   * Sends one block of the body, and waits until the system has taken it or the server speaks: it has no business to before the
   * final dot, and the caller looks.
   */
  async writeBlock(block: Uint8Array, ms: number): Promise<void> {
    let taken = false
    this.#socket.write(block, (error) => {
      taken = !error
      this.#wake()
    })
    await this.#when(() => taken || this.answered, ms)
  }

  /** The TLS handshake after STARTTLS (RFC 3207). The certificate is looked at by the caller. */
  async upgrade(options: ConnectionOptions, ms: number): Promise<TLSSocket> {
    // Bytes in plain text behind the reply would be read as if they had come through TLS: an injection.
    if (this.answered || this.#reader.partial) {
      throw new Broken('tls', 'sent extra data before the TLS handshake')
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

  /** Closes without a word. */
  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Says QUIT and closes when the server has answered and hung up, or has had `ms` milliseconds. Returns at once. That its end is
   * waited for is so that a server that counts connections has counted this one out before the next comes.
   */
  quit(ms: number): void {
    if (this.#broken) return this.destroy()
    this.until = steady(this.#clock) + ms + CLOSING
    this.write('QUIT\r\n')
    this.read(ms)
      .then(() => this.#when(() => false, CLOSING))
      // However this ends, nothing is left to learn from this server.
      .catch(() => this.destroy())
  }

  #listen(socket: Socket): void {
    const data = (chunk: Buffer): void => {
      if (this.#broken) return
      const complaint = this.#reader.feed(chunk)
      if (complaint) this.#break(new Broken('protocol', complaint))
      this.#wake()
    }
    const ended = (): void => this.#break(new Broken('network', 'closed the connection'))
    const closed = (): void => {
      ended()
      this.#gone()
    }
    socket.setNoDelay(true)
    socket.on('data', data).on('end', ended).on('close', closed)
    socket.on('error', (error) => {
      const { why, note } = explainSocketError(error)
      this.#break(new Broken(why, note))
    })
    // The error listener stays: a socket below TLS may still fail, and must not bring the process down.
    this.#unlisten = () => void socket.off('data', data).off('end', ended).off('close', closed)
    if (socket.destroyed) closed() // between dialling and here; its event is over
  }

  #heed(stopping: AbortSignal): void {
    const stop = (): void => {
      this.#break(new Broken('stopped', STOPPED))
      this.#socket.destroy()
    }
    if (stopping.aborted) return stop()
    stopping.addEventListener('abort', stop, { once: true })
    void this.closed.then(() => stopping.removeEventListener('abort', stop))
  }

  #break(broken: Broken): void {
    this.#broken ??= broken
    if (broken.kind === 'protocol') this.#socket.destroy()
    this.#wake()
  }

  /** Waits for a condition; a broken connection or a passed deadline throws. */
  async #when(condition: () => boolean, ms: number): Promise<void> {
    const { promise: late, resolve: timeout } = Promise.withResolvers<void>()
    const granted = Math.min(ms, Math.max(0, this.until - steady(this.#clock)))
    const cancel = this.#clock.after(granted, () => {
      const seconds = Math.round(granted / 1000)
      this.#break(new Broken('timeout', `did not reply within ${seconds} seconds`))
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
