/** A connection as the conversation sees it: lines and pieces in, replies out, one deadline for each wait. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { steady, type Clock } from '../clock/clock.ts'
import type { Certificates } from '../wire/certificates.ts'
import { HANDSHAKE_MS, LINGER_MS, MAX_LINE } from './limits.ts'

/** How a wait ended. `stop`: the server is shutting down. */
export type Waited = 'data' | 'end' | 'idle' | 'stop'

/**
 * A command line without its CRLF, or why there is none. `bad`: not CRLF at its end, a control within, or too long; `endless`: so long that
 * nothing more is to be read.
 */
export type Line =
  { kind: 'line'; text: string } | { kind: 'bad' | 'endless' } | { kind: Exclude<Waited, 'data'> }

/** Replies that are not yet read by the client, in octets; beyond, nothing more is read from it. */
const MAX_UNREAD = 64 * 1024
/** What a client may say before it is wanted, in octets; beyond, it is not read until then. */
const MAX_AHEAD = 64 * 1024
/** Commands of a client that pipelines (RFC 2920) in one turn of the event loop. */
const MOST_IN_ROW = 10
/** Octets of a line that are passed over until its end comes. */
const MAX_OVERLONG = 256 * 1024
/** Octets that are read after the last word, so that the client gets to hear it; beyond, it is left to wait for the end. */
const MAX_AFTER = 256 * 1024
const NOTHING = Buffer.alloc(0)

const utf8 = new TextDecoder('utf-8', { fatal: true })
const PRINTABLE = /^[ -~]*$/

export class SmtpSocket {
  readonly #clock: Clock
  readonly #share: (job: () => void) => void
  #socket: Socket
  #input: Buffer = NOTHING
  #output = ''
  /** Octets of the line that were passed over. */
  #passed = 0
  /** Lines that were taken without a wait. */
  #inRow = 0
  #ended = false
  #stopped = false
  #phase: 'talking' | 'handshaking' | 'ending' = 'talking'
  #waiting: ((waited: Waited) => void) | null = null
  /** The end of the wait is in line. */
  #woken = false
  #stoppable = true
  /** Ends a pause. */
  #resume: (() => void) | null = null
  /** When the wait is over, by the steady clock. */
  #deadline = 0
  /** When the timer that is set will ring. */
  #alarm = 0
  /** Takes back the timer that looks at the deadline; one serves many waits. */
  #disarm: (() => void) | null = null

  /** @param share begins what clients have said: only so much in each turn of the event loop */
  constructor(socket: Socket, clock: Clock, share: (job: () => void) => void) {
    this.#socket = socket
    this.#clock = clock
    this.#share = share
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
        if (++this.#inRow > MOST_IN_ROW) await this.#yield(ms)
        const raw = this.#input.subarray(0, lf + 1)
        this.#input = lf + 1 === this.#input.length ? NOTHING : this.#input.subarray(lf + 1)
        const overlong = this.#passed > 0 || raw.length > MAX_LINE
        this.#passed = 0
        return overlong ? { kind: 'bad' } : readLine(raw)
      }
      if (this.#input.length > MAX_LINE) {
        this.#passed += this.#input.length
        this.#input = NOTHING
        if (this.#passed > MAX_OVERLONG) return { kind: 'endless' }
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
    this.#input = NOTHING
    return piece
  }

  /** Reads nothing more from the client until the next wait. */
  hold(): void {
    this.#socket.pause()
  }

  /** Lets time go by, whatever the client does meanwhile; false when the server shuts down before it is over. */
  async pause(ms: number): Promise<boolean> {
    if (this.#stopped) return false
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, resolve)
      this.#resume = () => {
        cancel()
        resolve()
      }
    })
    this.#resume = null
    return !this.#stopped
  }

  /** Gives back what a piece had too much. */
  unread(rest: Buffer): void {
    this.#input = rest
  }

  /** Forgets what has come: after STARTTLS nothing said in the clear counts (RFC 3207 §4.2). */
  discard(): void {
    while (this.#socket.read() !== null);
    this.#input = NOTHING
  }

  /** Says something; it goes out with the next wait, together with what else is said until then (RFC 2920 §3.2). */
  write(text: string): void {
    this.#output += text
  }

  /** Hands out what was said; a promise while the client does not read, for at most `ms`. */
  flush(ms: number): Promise<void> | undefined {
    const text = this.#output
    this.#output = ''
    const socket = this.#socket
    if (text === '' || socket.destroyed || socket.writableEnded) return undefined
    // Replies are ASCII.
    socket.write(text, 'latin1')
    return socket.writableLength <= MAX_UNREAD ? undefined : this.#drained(ms)
  }

  async #drained(ms: number): Promise<void> {
    const socket = this.#socket
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, () => socket.destroy())
      const done = (): void => {
        cancel()
        socket.off('drain', done).off('close', done)
        resolve()
      }
      socket.on('drain', done).on('close', done)
    })
  }

  /** The server's side of a TLS handshake; false when it fails, and then the connection is gone. */
  async startTls(certificates: Certificates): Promise<boolean> {
    const waited = this.flush(HANDSHAKE_MS)
    if (waited) await waited
    const plain = this.#socket
    if (this.#stopped || plain.destroyed) {
      plain.destroy()
      return false
    }
    plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close').pause()
    // What was read too far belongs to the handshake: the rest after a PROXY header.
    if (this.#input.length > 0) plain.unshift(this.#input)
    this.#input = NOTHING
    const secure = new TLSSocket(plain, {
      isServer: true,
      secureContext: certificates.contextFor(),
      SNICallback: (name, done) => done(null, certificates.contextFor(name)),
    })
    this.#socket = secure
    this.#phase = 'handshaking'
    const done = await new Promise<boolean>((resolve) => {
      const cancel = this.#clock.after(HANDSHAKE_MS, () => finish(false))
      const finish = (good: boolean): void => {
        cancel()
        resolve(good)
      }
      // An end is only heard of where somebody reads; what comes right after the handshake must not be lost by that.
      const gone = (): void => finish(false)
      secure.once('end', gone).resume()
      secure.once('secure', () => {
        secure.off('end', gone).pause()
        finish(true)
      })
      // Scanners and clients that distrust the certificate end here; the session's log line says so.
      secure.on('error', () => finish(false))
      secure.once('_tlsError', () => finish(false))
      secure.once('close', () => finish(false))
    })
    this.#phase = 'talking'
    if (done) this.#listen(secure)
    else secure.destroy()
    return done
  }

  /** Ends the wait for a line, now or when it begins, a pause, and a handshake: nothing is lost with it. Bounds the goodbye. */
  stop(): void {
    this.#stopped = true
    this.#resume?.()
    if (this.#phase === 'handshaking') this.#socket.destroy()
    else if (this.#phase === 'ending') this.#clock.after(LINGER_MS, () => this.#socket.destroy())
    else if (this.#stoppable) this.#wake('stop')
  }

  /** Says what is left to say and closes; a client that does not close its side is cut off. */
  async end(ms: number): Promise<void> {
    const waited = this.flush(ms)
    if (waited) await waited
    const socket = this.#socket
    if (socket.destroyed) return
    socket.end()
    this.#phase = 'ending'
    await new Promise<void>((resolve) => {
      const most = this.#stopped ? Math.min(ms, LINGER_MS) : ms
      const cancel = this.#clock.after(most, () => socket.destroy())
      socket.once('close', () => {
        cancel()
        resolve()
      })
      let after = 0
      socket
        .removeAllListeners('data')
        .on('data', (chunk: Buffer) => {
          after += chunk.length
          if (after > MAX_AFTER) socket.pause()
        })
        .resume()
      if (this.#ended) socket.destroySoon()
    })
  }

  /**
   * The end of a client that has said that it is one (RFC 5321 §4.1.1.10): closes without waiting for the client to do so. What was
   * said is with the kernel, which sends it; where something is still to be read or encrypted, it is `end`.
   */
  async leave(ms: number): Promise<void> {
    const waited = this.flush(ms)
    if (waited) await waited
    const idle = this.#input.length === 0 && this.#socket.writableLength === 0
    if (idle && !this.tls) this.destroy()
    else await this.end(ms)
  }

  /** Ends a wait for input as if the time for it were over. */
  giveUp(): void {
    this.#wake('idle')
  }

  destroy(): void {
    this.#disarm?.()
    this.#disarm = null
    this.#socket.destroy()
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => {
      this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk])
      if (this.#waiting && !this.#woken) {
        this.#woken = true
        this.#share(this.#hear)
      }
      if (this.#input.length > MAX_AHEAD && (this.#woken || !this.#waiting)) socket.pause()
    })
    const over = (): void => {
      this.#ended = true
      this.#share(() => this.#wake('end'))
    }
    socket.on('end', over).on('close', over)
    socket.on('error', over) // A reset is an end.
  }

  /** Lets others have their turn, and waits until the client has read most of what was said. */
  async #yield(ms: number): Promise<void> {
    this.#inRow = 0
    const waited = this.flush(ms)
    if (waited) await waited
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Waits for more input than there is. @param stoppable false within a message, which may be finished */
  async #wait(ms: number, stoppable = true): Promise<Waited> {
    this.#inRow = 0
    const before = this.#input.length
    const waited = this.flush(ms)
    if (waited) await waited
    if (this.#input.length > before) return 'data'
    if (this.#ended) return 'end'
    if (this.#socket.isPaused()) this.#socket.resume()
    this.#stoppable = stoppable
    return new Promise<Waited>((resolve) => {
      this.#waiting = resolve
      this.#arm(ms)
    })
  }

  readonly #hear = (): void => {
    this.#woken = false
    if (this.#input.length > 0) this.#wake('data')
  }

  #wake(how: Waited): void {
    const resolve = this.#waiting
    this.#waiting = null
    resolve?.(how)
  }

  /** Ends the wait that has begun after `ms`. The timer of a wait before it serves, if it is not later. */
  #arm(ms: number): void {
    this.#deadline = steady(this.#clock) + ms
    if (this.#disarm && this.#alarm <= this.#deadline) return
    this.#disarm?.()
    this.#setAlarm(ms)
  }

  #setAlarm(ms: number): void {
    this.#alarm = this.#deadline
    this.#disarm = this.#clock.after(ms, () => {
      this.#disarm = null
      const left = this.#deadline - steady(this.#clock)
      if (!this.#waiting) return
      if (left > 0) this.#setAlarm(left)
      else this.#wake('idle')
    })
  }
}

/** Controls other than the final CRLF have no place in a command; text is UTF-8 (RFC 6531 §3.2). */
function readLine(raw: Buffer): Line {
  const end = raw.length - 2
  if (end < 0 || raw[end] !== 13) return { kind: 'bad' }
  const ascii = raw.toString('latin1', 0, end)
  if (PRINTABLE.test(ascii)) return { kind: 'line', text: ascii }
  try {
    const text = utf8.decode(raw.subarray(0, end))
    return /\p{Cc}/u.test(text) ? { kind: 'bad' } : { kind: 'line', text }
  } catch {
    return { kind: 'bad' } // Not UTF-8: no client of this century means anything by it.
  }
}
