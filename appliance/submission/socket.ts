/** A connection as the conversation sees it: lines and pieces in, replies out, one deadline for each wait. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Clock } from '../clock/clock.ts'
import type { Certificates } from '../wire/certificates.ts'
import { HANDSHAKE_MS, MAX_LINE } from './limits.ts'

/** How a wait ended. `stop`: the server is shutting down. */
export type Waited = 'data' | 'end' | 'idle' | 'stop'

/** A command line without its CRLF, or why there is none. `bad`: not CRLF at its end, a control within, or too long. */
export type Line = { kind: 'line'; text: string } | { kind: 'bad' } | { kind: Exclude<Waited, 'data'> }

/** Replies that are not yet read by the client, in octets; beyond, nothing more is read from it. */
const MAX_UNREAD = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

export class SmtpSocket {
  readonly #clock: Clock
  #socket: Socket
  #input: Buffer = Buffer.alloc(0)
  #output: string[] = []
  #overlong = false
  #ended = false
  #stopped = false
  #wake: (waited: Waited) => void = () => undefined

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    this.#listen(socket)
  }

  /** Whether more has come than was asked for. */
  get pending(): boolean {
    return this.#input.length > 0
  }

  get tls(): TLSSocket | null {
    return this.#socket instanceof TLSSocket ? this.#socket : null
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? ''
  }

  /** The next line; waits at most `ms`. */
  async line(ms: number): Promise<Line> {
    for (;;) {
      const lf = this.#input.indexOf(10)
      if (lf >= 0) {
        const raw = this.#input.subarray(0, lf + 1)
        this.#input = this.#input.subarray(lf + 1)
        const overlong = this.#overlong || raw.length > MAX_LINE
        this.#overlong = false
        return overlong ? { kind: 'bad' } : readLine(raw)
      }
      if (this.#input.length > MAX_LINE) {
        this.#overlong = true
        this.#input = Buffer.alloc(0)
      }
      if (this.#stopped) return { kind: 'stop' }
      const waited = await this.#wait(ms)
      if (waited !== 'data') return { kind: waited }
    }
  }

  /** What has come, or comes within `ms`; null when nothing does, however that ends. */
  async piece(ms: number): Promise<Buffer | null> {
    if (this.#input.length === 0 && (await this.#wait(ms, false)) !== 'data') return null
    const piece = this.#input
    this.#input = Buffer.alloc(0)
    return piece
  }

  /** Gives back what a piece had too much. */
  unread(rest: Buffer): void {
    this.#input = rest
  }

  /** Forgets what has come: after STARTTLS nothing said in the clear counts (RFC 3207 §4.2). */
  discard(): void {
    while (this.#socket.read() !== null);
    this.#input = Buffer.alloc(0)
  }

  /** Says something; it goes out with the next wait, together with what else is said until then (RFC 2920 §3.2). */
  write(text: string): void {
    this.#output.push(text)
  }

  /** Hands out what was said; waits while the client does not read. */
  async flush(ms: number): Promise<void> {
    const text = this.#output.join('')
    this.#output = []
    if (text === '' || this.#socket.destroyed || this.#socket.writableEnded) return
    // Replies are ASCII.
    this.#socket.write(text, 'latin1')
    if (this.#socket.writableLength <= MAX_UNREAD) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, () => this.#socket.destroy())
      const done = (): void => {
        cancel()
        this.#socket.off('drain', done).off('close', done)
        resolve()
      }
      this.#socket.on('drain', done).on('close', done)
    })
  }

  /** The server's side of a TLS handshake; false when it fails, and then the connection is gone. */
  async startTls(certificates: Certificates): Promise<boolean> {
    await this.flush(HANDSHAKE_MS)
    const plain = this.#socket
    plain.removeAllListeners('readable').removeAllListeners('end').removeAllListeners('close')
    // What was read too far belongs to the handshake: the rest after a PROXY header.
    if (this.#input.length > 0) plain.unshift(this.#input)
    this.#input = Buffer.alloc(0)
    const secure = new TLSSocket(plain, {
      isServer: true,
      secureContext: certificates.contextFor(),
      SNICallback: (name, done) => done(null, certificates.contextFor(name)),
    })
    this.#socket = secure
    const done = await new Promise<boolean>((resolve) => {
      const cancel = this.#clock.after(HANDSHAKE_MS, () => finish(false))
      const finish = (good: boolean): void => {
        cancel()
        resolve(good)
      }
      secure.once('secure', () => finish(true))
      // Scanners and clients that distrust the certificate end here; the session's log line says so.
      secure.on('error', () => finish(false))
      secure.once('_tlsError', () => finish(false))
      secure.once('close', () => finish(false))
    })
    if (done) this.#listen(secure)
    else secure.destroy()
    return done
  }

  /** Ends the wait for a line, now or when it begins. */
  stop(): void {
    this.#stopped = true
    this.#wake('stop')
  }

  /** Says what is left to say and closes; a client that does not close its side is cut off. */
  async end(ms: number): Promise<void> {
    await this.flush(ms)
    if (this.#socket.destroyed) return
    this.#socket.end()
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, () => this.#socket.destroy())
      this.#socket.once('close', () => {
        cancel()
        resolve()
      })
      this.#socket.removeAllListeners('readable').resume()
      if (this.#ended) this.#socket.destroySoon()
    })
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #listen(socket: Socket): void {
    socket.on('readable', () => {
      if (socket.readableLength > 0) this.#wake('data')
    })
    const over = (): void => {
      this.#ended = true
      this.#wake('end')
    }
    socket.on('end', over).on('close', over)
    socket.on('error', over) // A reset is an end.
  }

  /** Waits for more input, which is then taken. @param stoppable false within a message, which may be finished */
  async #wait(ms: number, stoppable = true): Promise<Waited> {
    await this.flush(ms)
    if (this.#take()) return 'data'
    if (this.#ended) return 'end'
    const waited = await new Promise<Waited>((resolve) => {
      const cancel = this.#clock.after(ms, () => this.#wake('idle'))
      this.#wake = (how) => {
        if (how === 'stop' && !stoppable) return
        cancel()
        this.#wake = () => undefined
        resolve(how)
      }
    })
    return this.#take() ? 'data' : waited === 'data' ? this.#wait(ms, stoppable) : waited
  }

  #take(): boolean {
    const chunk = this.#socket.read() as Buffer | null
    if (chunk === null) return false
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk])
    return true
  }
}

/** Controls other than the final CRLF have no place in a command; text is UTF-8 (RFC 6531 §3.1). */
function readLine(raw: Buffer): Line {
  if (raw.length < 2 || raw[raw.length - 2] !== 13) return { kind: 'bad' }
  try {
    const text = utf8.decode(raw.subarray(0, -2))
    return /\p{Cc}/u.test(text) ? { kind: 'bad' } : { kind: 'line', text }
  } catch {
    return { kind: 'bad' } // Not UTF-8: no client of this century means anything by it.
  }
}
