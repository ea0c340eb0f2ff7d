/** One SMTP session: its state, and the loop that reads commands and writes replies. */
import { REFUSAL_DELAY_MS, type Connection } from '../capacity/capacity.ts'
import { getSteadyTime } from '../clock/clock.ts'
import { Refusal, refuse, type RefusalKey } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import type { Caller } from '../senders/api-keys.ts'
import { newId } from '../mail/ids.ts'
import type { ListenerKind, SharedState } from './deps.ts'
import type { Client, MailHandler } from './handler.ts'
import type { NetworkBans } from './gate.ts'
import {
  UNAUTHENTICATED_BUSY_MS,
  FREE_IDLE_COMMANDS,
  FREE_IDLE_COMMANDS_UNAUTHENTICATED,
  IDLE_MS,
  INBOUND_MS,
  MAX_ERRORS,
  MAX_ERRORS_PUBLIC,
  MAX_LINE,
  SESSION_MS,
  UNAUTHENTICATED_MS,
} from './limits.ts'
import { formatRefusal, createReply, encodeReply } from './reply.ts'
import { SessionLog, type Transaction } from './session-log.ts'
import type { SmtpSocket } from './socket.ts'
import { parseCommand } from './syntax.ts'

/**
 * Runs a command and returns the reply; null if it has already written all replies. Refuses by throwing a `Refusal`.
 */
export type CommandHandler = (session: Session, args: string) => Promise<Reply | null> | Reply | null

/** First words of lines in HTTP requests. If a program speaks HTTP to a mail port, an attacker is abusing it. */
const NOT_SMTP = new Set(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'CONNECT', 'HOST:'])

/** Commands that don't contribute to a message. */
const IDLE = new Set(['EHLO', 'HELO', 'RSET', 'NOOP', 'VRFY', 'HELP'])

/** Arguments of a session. */
export interface SessionArgs {
  /** Handlers by command; the object has no prototype. */
  commands: Readonly<Record<string, CommandHandler | undefined>>
  shared: SharedState
  socket: SmtpSocket
  kind: ListenerKind
  /** The listening port. */
  port: number
  /** The client's address. */
  ip: string
  /** The client's connection, which counts against the limits. */
  connection: Connection
}

const isPublicMx = ({ config }: SharedState, kind: ListenerKind, port: number): boolean =>
  kind.name === 'starttls' && port === (config.mxPort ?? 25)

/** Returns the gate that counts failures of unauthenticated clients at a listener. */
export const getNetworkBans = (shared: SharedState, kind: ListenerKind, port: number): NetworkBans =>
  shared.gates[isPublicMx(shared, kind, port) ? 'publicMx' : 'submission']

export class Session {
  readonly id: string
  readonly startedAt: number
  readonly log: SessionLog
  /** The client's name, and whether it used EHLO; null before EHLO and HELO. */
  helo: { name: string; extended: boolean } | null = null
  caller: Caller | null = null
  transaction: Transaction | null = null
  /** Whether the session ends after the current reply. */
  over = false
  /** Whether the client sent QUIT, and therefore expects only the reply. */
  quit = false
  /** Number of recipients looked up without authentication. */
  lookups = 0
  /** When the session began, by the steady clock. `startedAt` is wall-clock time, for logs. */
  readonly #begunAt: number
  #errors = 0
  /** Number of commands in `IDLE` since the last message. */
  #idle = 0
  #stopping = false
  readonly #commands: SessionArgs['commands']

  readonly shared: SharedState
  readonly socket: SmtpSocket
  readonly kind: ListenerKind
  readonly port: number
  readonly ip: string
  readonly connection: Connection

  constructor({ commands, shared, socket, kind, port, ip, connection }: SessionArgs) {
    this.#commands = commands
    this.connection = connection
    this.shared = shared
    this.socket = socket
    this.kind = kind
    this.port = port
    this.ip = ip
    this.startedAt = shared.clock.now()
    this.#begunAt = getSteadyTime(shared.clock)
    this.id = newId(this.startedAt)
    this.log = new SessionLog(this)
  }

  get encrypted(): boolean {
    return this.socket.tls !== null
  }

  /** Whether clients may send without authentication on this listener. */
  get answersStrangers(): boolean {
    return isPublicMx(this.shared, this.kind, this.port)
  }

  /** The handler for new messages. */
  get handler(): MailHandler {
    return this.caller || this.kind.name === 'trusted' ? this.shared.submission : this.shared.publicMx
  }

  /** The client, in the form in which it is passed to message handlers. */
  get client(): Client {
    const { ip, helo, socket, kind, caller } = this
    const tls = socket.tls?.getProtocol() ?? null
    return { ip, helo: helo!.name, extended: helo!.extended, tls, trusted: kind.name === 'trusted', caller }
  }

  /** Sends the greeting, then runs commands until either side ends the session. */
  async run(): Promise<void> {
    this.say(createReply(220, null, `${this.shared.config.hostname} ESMTP Posthaste`))
    while (!this.over) await this.#turn()
    this.endTransaction()
    this.log.end()
  }

  /** Ends the session as soon as no message is in flight. */
  stop(): void {
    this.#stopping = true
    this.socket.stop()
  }

  /** Aborts the current message, if any. */
  endTransaction(): void {
    if (!this.transaction) return
    this.log.endTransaction(this.transaction)
    this.transaction.incoming?.discard()
    this.transaction.turn?.[Symbol.dispose]()
    this.transaction = null
  }

  say(what: Reply): void {
    this.socket.write(encodeReply(what))
  }

  /** Replies with a refusal and ends the session. */
  close(key: RefusalKey, fill: Record<string, string | number> = {}): void {
    const refusal = refuse(key, fill)
    this.log.note('', refusal)
    this.say(formatRefusal(refusal))
    this.over = true
  }

  async #turn(): Promise<void> {
    const left = this.#begunAt + this.#most() - getSteadyTime(this.shared.clock)
    if (left <= 0) return this.close('smtp_session_over')
    if (this.#stopping) return this.close('shutting_down')
    const line = await this.socket.line(Math.min(IDLE_MS, left))
    switch (line.kind) {
      case 'line':
        return await this.#obey(line.text)
      case 'bad':
        return this.#refused('', refuse('smtp_line', { limit: MAX_LINE }))
      case 'endless':
        return this.close('smtp_line', { limit: MAX_LINE })
      case 'idle':
        return left < IDLE_MS
          ? this.close('smtp_session_over')
          : this.close('smtp_idle', { limit: IDLE_MS / 1000 })
      case 'stop':
        return this.close('shutting_down')
      case 'end':
        this.over = true
    }
  }

  /**
   * Maximum duration of the session in milliseconds. It is shorter for unauthenticated clients while many of them are
   * connected.
   */
  #most(): number {
    if (this.caller || this.kind.name === 'trusted') return SESSION_MS
    if (this.transaction && this.transaction.recipients.size > 0) return INBOUND_MS
    return this.shared.capacity.smtp.crowded ? UNAUTHENTICATED_BUSY_MS : UNAUTHENTICATED_MS
  }

  async #obey(text: string): Promise<void> {
    const { verb, args } = parseCommand(text)
    if (NOT_SMTP.has(verb)) return this.close('smtp_not_smtp')
    const command = this.#commands[verb]
    // An unknown command may contain a key, so never log it.
    const said = !command ? '?' : verb === 'AUTH' ? `AUTH ${args.split(' ')[0]!.toUpperCase()}` : text
    try {
      if (!command) throw refuse('smtp_unknown_command')
      const metered = this.#meter(verb)
      if (metered) await metered
      const answer = await command(this, args)
      if (!answer) return
      this.log.note(said, answer)
      this.say(answer)
      if (this.transaction?.outcome) this.#endMessage()
    } catch (error) {
      if (!(error instanceof Refusal))
        this.shared.log.error(
          { err: error, session_id: this.id },
          'smtp command failed: this is a bug or a full disk',
        )
      this.#refused(said, error instanceof Refusal ? error : refuse('internal'))
    }
  }

  #endMessage(): void {
    this.endTransaction()
    this.#idle = 0
  }

  /**
   * Charges commands that don't contribute to a message to the budget of the IP, once there are more than any client
   * needs. Returns a promise that rejects with `address_rate` if the budget is used up.
   */
  #meter(verb: string): Promise<never> | undefined {
    if (this.kind.name === 'trusted' || !IDLE.has(verb)) return undefined
    if (++this.#idle <= (this.caller ? FREE_IDLE_COMMANDS : FREE_IDLE_COMMANDS_UNAUTHENTICATED))
      return undefined
    const seconds = this.shared.capacity.budgets.take(this.ip)
    return seconds === 0 ? undefined : this.#refuseLater(seconds)
  }

  async #refuseLater(seconds: number): Promise<never> {
    await this.socket.pause(REFUSAL_DELAY_MS)
    throw refuse('address_rate', { seconds })
  }

  #refused(said: string, refusal: Refusal): void {
    this.log.note(said, refusal)
    const answer = formatRefusal(refusal)
    this.say(answer)
    if (this.transaction?.outcome) this.#endMessage()
    if (answer.code === 421) this.over = true
    if (answer.code < 500 || this.over) return
    const { caller, shared, kind, port, ip } = this
    const gate = caller ? shared.gates.submission : getNetworkBans(shared, kind, port)
    gate.fault(ip)
    const most = gate === shared.gates.publicMx ? MAX_ERRORS_PUBLIC : MAX_ERRORS
    if (++this.#errors >= most) this.close('smtp_many_errors')
  }
}
