/** A correct SMTP client with a single connection, which it keeps open as long as possible. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { SmtpAttempt } from './ledger.ts'

/**
 * Timeout for a reply, in milliseconds. Needed only for a daemon that hangs, because a killed daemon closes the
 * connection.
 */
const PATIENCE_MS = 20_000

export interface SmtpMessage {
  from: string
  recipients: string[]
  /** Message text, with CRLF line ends, and no line that begins with a dot. */
  data: string
}

/** The result of an attempt. `none`: the connection broke before a reply; `said` is true if the message was begun. */
export type SmtpResult =
  { kind: 'accepted' } | { kind: 'refused'; reply: string } | { kind: 'none'; said: boolean }

/**
 * Repeats a message until it is accepted or refused permanently, and records each attempt in `tries`. Each attempt has
 * its own mark, because SMTP has no idempotency key.
 * @returns null when accepted, otherwise the reply
 */
export async function sendUntilFinalReply(
  client: SmtpClient,
  { mark: prefix, tries }: { mark: string; tries: SmtpAttempt[] },
  { restMs, message }: { restMs: () => number; message: (mark: string) => SmtpMessage },
): Promise<string | null> {
  for (let count = 1; ; count++) {
    const mark = `${prefix}.${count}`
    const one = { mark, run: client.run, accepted: false }
    tries.push(one)
    const answer = await client.submit(message(mark))
    if (answer.kind === 'accepted') {
      one.accepted = true
      return null
    }
    if (answer.kind === 'refused' && answer.reply.startsWith('5')) return answer.reply
    // This is still the run that the attempt reached: even if it has ended, the next one hasn't begun.
    one.run = client.run
    if (answer.kind === 'none' && !answer.said) tries.pop()
    await pause(restMs())
  }
}

class Broken extends Error {}

/** A listener of a daemon. */
export interface SmtpTarget {
  port: number
  /** Returns the current run of the listener's daemon. */
  run: () => number
}

export class SmtpClient {
  readonly #choose: () => SmtpTarget
  #target: SmtpTarget
  #socket: Socket | null = null
  #input = ''
  #wake = (): void => undefined

  /**
   * Creates a client, which connects when it is first used.
   * @param choose returns where to connect, for each connection
   */
  constructor(choose: () => SmtpTarget) {
    this.#choose = choose
    this.#target = choose()
  }

  /** The current run of the daemon that the client uses, or used last. */
  get run(): number {
    return this.#target.run()
  }

  /** Submits one message; never rejects. */
  async submit({ from, recipients, data }: SmtpMessage): Promise<SmtpResult> {
    let said = false
    try {
      if (!this.#socket) await this.#open()
      const commands = [`MAIL FROM:<${from}>`, ...recipients.map((one) => `RCPT TO:<${one}>`), 'DATA']
      for (const command of commands) {
        const reply = await this.#ask(command)
        if (!/^[23]/.test(reply)) return this.#refused(reply)
      }
      said = true
      const reply = await this.#ask(`${data}\r\n.`)
      return reply.startsWith('2') ? { kind: 'accepted' } : this.#refused(reply)
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      this.close()
      return { kind: 'none', said }
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
  }

  #refused(reply: string): SmtpResult {
    this.close()
    return { kind: 'refused', reply }
  }

  async #open(): Promise<void> {
    this.#target = this.#choose()
    const socket = connect(this.#target.port, '127.0.0.1')
    this.#input = ''
    socket.setNoDelay(true)
    try {
      await once(socket, 'connect')
    } catch {
      // No daemon is running; the caller retries.
      socket.destroy()
      throw new Broken()
    }
    const broke = (): void => {
      if (this.#socket === socket) this.#socket = null
      this.#wake()
    }
    socket.on('error', broke).on('close', broke)
    socket.on('data', (chunk: Buffer) => {
      this.#input += chunk.toString('latin1')
      this.#wake()
    })
    this.#socket = socket
    for (const reply of [await this.#reply(), await this.#ask('EHLO client.test')])
      if (!reply.startsWith('2')) throw new Broken()
  }

  #ask(line: string): Promise<string> {
    this.#socket?.write(`${line}\r\n`, 'latin1')
    return this.#reply()
  }

  async #reply(): Promise<string> {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const found = /^(?:\d{3}-[^\n]*\n)*(\d{3}(?: [^\n]*)?)\n/.exec(this.#input)
      if (found) {
        this.#input = this.#input.slice(found[0].length)
        return found[1]!.trim()
      }
      if (!this.#socket || Date.now() > end) throw new Broken()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, PATIENCE_MS)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}
