/** A connection with line and chunk input, buffered output, and one deadline per wait. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { getSteadyTime, type Clock } from '../clock/clock.ts'
import type { Certificates } from '../wire/certificates.ts'
import { HANDSHAKE_MS, LINGER_MS, MAX_LINE } from './limits.ts'

/** How a wait ended. `stop`: the server is shutting down. */
export type WaitResult = 'data' | 'end' | 'idle' | 'stop'

/**
 * A command line without its CRLF, or the reason why there is none. `bad`: it doesn't end with CRLF, has a control
 * character, or is too long. `endless`: it is so long that the connection must be closed.
 */
export type Line =
  { kind: 'line'; text: string } | { kind: 'bad' | 'endless' } | { kind: Exclude<WaitResult, 'data'> }

/** Maximum size of replies that the client hasn't read, in octets. Above it, no more input is read. */
const MAX_UNREAD = 64 * 1024
/** Maximum size of input that a client may send ahead, in octets. Above it, reading pauses. */
const MAX_AHEAD = 64 * 1024
/** Maximum number of pipelined commands (RFC 2920) processed per turn of the event loop. */
const MOST_IN_ROW = 10
/** Maximum number of octets of an overlong line that are skipped while looking for its end. */
const MAX_OVERLONG = 256 * 1024
/**
 * Maximum number of octets to read after the last reply, so that the client can receive the reply. Above it, reading
 * stops until the connection ends.
 */
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
  /** Number of octets of the current line that were skipped so far. */
  #passed = 0
  /** Number of lines that were returned in a row without waiting. */
  #inRow = 0
  #ended = false
  #stopped = false
  #phase: 'talking' | 'handshaking' | 'ending' = 'talking'
  #waiting: ((waited: WaitResult) => void) | null = null
  /** Whether the end of the wait is scheduled. */
  #woken = false
  #stoppable = true
  /** Ends a pause. */
  #resume: (() => void) | null = null
  /** When the current wait ends, by the steady clock. */
  #deadline = 0
  /** When the current timer fires. */
  #alarm = 0
  /** Cancels the timer that checks the deadline. One timer serves many waits. */
  #disarm: (() => void) | null = null

  /** @param share schedules the processing of input: a limited number of sessions per turn of the event loop */
  constructor(socket: Socket, clock: Clock, share: (job: () => void) => void) {
    this.#socket = socket
    this.#clock = clock
    this.#share = share
    this.#listen(socket)
  }

  /** Whether there is unread input. */
  get pending(): boolean {
    return this.#input.length > 0
  }

  get tls(): TLSSocket | null {
    return this.#socket instanceof TLSSocket ? this.#socket : null
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? ''
  }

  /** Reads the next line. Waits at most `ms` milliseconds. */
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

  /** Reads the next chunk within `ms` milliseconds; null if none arrives, for any reason. */
  async piece(ms: number): Promise<Buffer | null> {
    if (this.#input.length === 0 && (await this.#wait(ms, false)) !== 'data') return null
    const piece = this.#input
    this.#input = NOTHING
    return piece
  }

  /** Stops reading from the client until the next wait. */
  hold(): void {
    this.#socket.pause()
  }

  /** Waits `ms` milliseconds, regardless of input. Resolves to false if the server shuts down first. */
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

  /** Pushes back the unused rest of a chunk. */
  unread(rest: Buffer): void {
    this.#input = rest
  }

  /** Discards all input. Input sent before STARTTLS must be ignored afterwards (RFC 3207 §4.2). */
  discard(): void {
    while (this.#socket.read() !== null);
    this.#input = NOTHING
  }

  /** Buffers a reply. It is sent together with other replies at the next wait (RFC 2920 §3.2). */
  write(text: string): void {
    this.#output += text
  }

  /**
   * Sends buffered replies. If the client doesn't read them, returns a promise that resolves once it does. Disconnects
   * the client after `ms` milliseconds.
   */
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

  /** Runs the server side of a TLS handshake. On failure, closes the connection and resolves to false. */
  async startTls(certificates: Certificates): Promise<boolean> {
    const waited = this.flush(HANDSHAKE_MS)
    if (waited) await waited
    const plain = this.#socket
    if (this.#stopped || plain.destroyed) {
      plain.destroy()
      return false
    }
    plain.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close').pause()
    // Input that was already read after a PROXY header is part of the handshake.
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
      // The end of a connection is only noticed while reading. But reading must stop after the handshake, because data
      // that follows it would be lost.
      const gone = (): void => finish(false)
      secure.once('end', gone).resume()
      secure.once('secure', () => {
        secure.off('end', gone).pause()
        finish(true)
      })
      // Handshakes of scanners, and of clients that reject the certificate, fail here. After STARTTLS, the session's
      // log line shows no TLS version.
      secure.on('error', () => finish(false))
      secure.once('_tlsError', () => finish(false))
      secure.once('close', () => finish(false))
    })
    this.#phase = 'talking'
    if (done) this.#listen(secure)
    else secure.destroy()
    return done
  }

  /**
   * Ends a wait for a line, a pause or a handshake, immediately or when it next begins. Ending these loses no data.
   * Limits the time for sending the last reply.
   */
  stop(): void {
    this.#stopped = true
    this.#resume?.()
    if (this.#phase === 'handshaking') this.#socket.destroy()
    else if (this.#phase === 'ending') this.#clock.after(LINGER_MS, () => this.#socket.destroy())
    else if (this.#stoppable) this.#wake('stop')
  }

  /**
   * Sends buffered replies and closes the connection. Disconnects a client that doesn't close its side within `ms`
   * milliseconds.
   */
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
   * Closes the connection after QUIT without waiting for the client to close (RFC 5321 §4.1.1.10), because the kernel
   * still sends data that was written. Falls back to `end` if there is still input to read or output to encrypt.
   */
  async leave(ms: number): Promise<void> {
    const waited = this.flush(ms)
    if (waited) await waited
    const idle = this.#input.length === 0 && this.#socket.writableLength === 0
    if (idle && !this.tls) this.destroy()
    else await this.end(ms)
  }

  /** Ends a wait for input as if it had timed out. */
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
    socket.on('error', over) // A reset ends the connection, too.
  }

  /** Yields to other sessions, and waits until the client has read most of the replies. */
  async #yield(ms: number): Promise<void> {
    this.#inRow = 0
    const waited = this.flush(ms)
    if (waited) await waited
    await new Promise((resolve) => setImmediate(resolve))
  }

  /**
   * Waits for more input.
   * @param stoppable false within a message, which may still be completed during a shutdown
   */
  async #wait(ms: number, stoppable = true): Promise<WaitResult> {
    this.#inRow = 0
    const before = this.#input.length
    const waited = this.flush(ms)
    if (waited) await waited
    if (this.#input.length > before) return 'data'
    if (this.#ended) return 'end'
    if (this.#socket.isPaused()) this.#socket.resume()
    this.#stoppable = stoppable
    return new Promise<WaitResult>((resolve) => {
      this.#waiting = resolve
      this.#arm(ms)
    })
  }

  readonly #hear = (): void => {
    this.#woken = false
    if (this.#input.length > 0) this.#wake('data')
  }

  #wake(how: WaitResult): void {
    const resolve = this.#waiting
    this.#waiting = null
    resolve?.(how)
  }

  /** Ends the current wait after `ms` milliseconds. Keeps a running timer unless it fires later. */
  #arm(ms: number): void {
    this.#deadline = getSteadyTime(this.#clock) + ms
    if (this.#disarm && this.#alarm <= this.#deadline) return
    this.#disarm?.()
    this.#setAlarm(ms)
  }

  #setAlarm(ms: number): void {
    this.#alarm = this.#deadline
    this.#disarm = this.#clock.after(ms, () => {
      this.#disarm = null
      const left = this.#deadline - getSteadyTime(this.#clock)
      if (!this.#waiting) return
      if (left > 0) this.#setAlarm(left)
      else this.#wake('idle')
    })
  }
}

/** Checks a line: no control characters before the CRLF, and valid UTF-8 (RFC 6531 §3.2). */
function readLine(raw: Buffer): Line {
  const end = raw.length - 2
  if (end < 0 || raw[end] !== 13) return { kind: 'bad' }
  const ascii = raw.toString('latin1', 0, end)
  if (PRINTABLE.test(ascii)) return { kind: 'line', text: ascii }
  try {
    const text = utf8.decode(raw.subarray(0, end))
    return /\p{Cc}/u.test(text) ? { kind: 'bad' } : { kind: 'line', text }
  } catch {
    return { kind: 'bad' } // Not UTF-8, which is the only encoding that current clients use.
  }
}
