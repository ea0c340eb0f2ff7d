/** One session: its state, and the loop that reads a command and says the reply. */
import { HOLD_MS, type Connection } from '../capacity/capacity.ts'
import { steady } from '../clock/clock.ts'
import { Refusal, refuse, type RefusalKey } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import type { Caller } from '../senders/caller.ts'
import { newId } from '../mail/ids.ts'
import type { ListenerKind, Shared } from './deps.ts'
import type { Client, Door } from './door.ts'
import type { Gate } from './gate.ts'
import {
  HURRIED_MS,
  IDLE_FREE,
  IDLE_FREE_UNKNOWN,
  IDLE_MS,
  INBOUND_MS,
  MAX_ERRORS,
  MAX_ERRORS_PUBLIC,
  MAX_LINE,
  SESSION_MS,
  UNKNOWN_MS,
} from './limits.ts'
import { refusalReply, reply, writeReply } from './reply.ts'
import { SessionLog, type Transaction } from './session-log.ts'
import type { SmtpSocket } from './socket.ts'
import { parseCommand } from './syntax.ts'

/** Obeys, and returns what to say; null when it has said everything itself. Refuses by throwing. */
export type CommandHandler = (session: Session, args: string) => Promise<Reply | null> | Reply | null

/** Programs that speak HTTP to a mail port do so because somebody tricked them. */
const NOT_SMTP = new Set(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'CONNECT', 'HOST:'])

/** Commands that bring no message any nearer once they were said. */
const IDLE = new Set(['EHLO', 'HELO', 'RSET', 'NOOP', 'VRFY', 'HELP'])

/** Who talks to whom where. */
export interface SessionArgs {
  /** Every verb that is understood; no prototype. */
  commands: Readonly<Record<string, CommandHandler | undefined>>
  shared: Shared
  socket: SmtpSocket
  kind: ListenerKind
  /** The listening port. */
  port: number
  /** The client's address. */
  ip: string
  /** How it was counted in. */
  connection: Connection
}

const isPublicMx = ({ config }: Shared, kind: ListenerKind, port: number): boolean =>
  kind.name === 'starttls' && port === (config.relayPort ?? 25)

/** Which gate counts what clients of a listener do before they sign in. */
export const gateOf = (shared: Shared, kind: ListenerKind, port: number): Gate =>
  shared.gates[isPublicMx(shared, kind, port) ? 'publicMx' : 'submission']

export class Session {
  readonly id: string
  readonly startedAt: number
  readonly log: SessionLog
  /** What the client calls itself, and whether it said EHLO; null before. */
  helo: { name: string; extended: boolean } | null = null
  caller: Caller | null = null
  transaction: Transaction | null = null
  /** Set by what is said last. */
  over = false
  /** The client said QUIT, and expects nothing but the reply. */
  quit = false
  /** Recipients that were looked up without sign-in. */
  lookups = 0
  /** By the steady clock: `startedAt` is for people. */
  readonly #begunAt: number
  #errors = 0
  /** Commands in `IDLE` since the last message. */
  #idle = 0
  #stopping = false
  readonly #commands: SessionArgs['commands']

  readonly shared: Shared
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
    this.#begunAt = steady(shared.clock)
    this.id = newId(this.startedAt)
    this.log = new SessionLog(this)
  }

  get encrypted(): boolean {
    return this.socket.tls !== null
  }

  /** Whether clients may say MAIL here without sign-in. */
  get answersStrangers(): boolean {
    return isPublicMx(this.shared, this.kind, this.port)
  }

  /** Where a message goes that begins now. */
  get door(): Door {
    return this.caller || this.kind.name === 'trusted' ? this.shared.submission : this.shared.publicMx
  }

  /** Who sends, for a door. */
  get client(): Client {
    const { ip, helo, socket, kind, caller } = this
    const tls = socket.tls?.getProtocol() ?? null
    return { ip, helo: helo!.name, extended: helo!.extended, tls, trusted: kind.name === 'trusted', caller }
  }

  /** Greets and converses until one side ends it. */
  async run(): Promise<void> {
    this.say(reply(220, null, `${this.shared.config.hostname} ESMTP Posthaste`))
    while (!this.over) await this.#turn()
    this.endTransaction()
    this.log.end()
  }

  /** Says goodbye as soon as no message is in flight. */
  stop(): void {
    this.#stopping = true
    this.socket.stop()
  }

  /** Ends the message that is begun, if there is one. */
  endTransaction(): void {
    if (!this.transaction) return
    this.log.endTransaction(this.transaction)
    this.transaction.incoming?.discard()
    this.transaction.turn?.[Symbol.dispose]()
    this.transaction = null
  }

  say(what: Reply): void {
    this.socket.write(writeReply(what))
  }

  /** Says a last word. */
  close(key: RefusalKey, fill: Record<string, string | number> = {}): void {
    const refusal = refuse(key, fill)
    this.log.note('', refusal)
    this.say(refusalReply(refusal))
    this.over = true
  }

  async #turn(): Promise<void> {
    const left = this.#begunAt + this.#most() - steady(this.shared.clock)
    if (left <= 0) return this.close('smtp_session_over')
    if (this.#stopping) return this.close('shutting_down')
    const line = await this.socket.line(Math.min(IDLE_MS, left))
    switch (line.kind) {
      case 'line':
        return this.#obey(line.text)
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

  /** How long the session may last (milliseconds). Where many strangers come at once, each has less time to say who it is. */
  #most(): number {
    if (this.caller || this.kind.name === 'trusted') return SESSION_MS
    if (this.transaction && this.transaction.recipients.size > 0) return INBOUND_MS
    return this.shared.capacity.smtp.crowded ? HURRIED_MS : UNKNOWN_MS
  }

  async #obey(text: string): Promise<void> {
    const { verb, args } = parseCommand(text)
    if (NOT_SMTP.has(verb)) return this.close('smtp_not_smtp')
    const command = this.#commands[verb]
    // Whatever follows an unknown word may be a key: it is not repeated in any log.
    const said = !command ? '?' : verb === 'AUTH' ? `AUTH ${args.split(' ')[0]!.toUpperCase()}` : text
    try {
      if (!command) throw refuse('smtp_unknown_command')
      await this.#meter(verb)
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

  /** Puts commands that lead to nothing on the account of the address, beyond what any client needs. Refuses: `address_rate`. */
  async #meter(verb: string): Promise<void> {
    if (this.kind.name === 'trusted' || !IDLE.has(verb)) return
    if (++this.#idle <= (this.caller ? IDLE_FREE : IDLE_FREE_UNKNOWN)) return
    const seconds = this.shared.capacity.budgets.take(this.ip)
    if (seconds === 0) return
    await this.socket.pause(HOLD_MS)
    throw refuse('address_rate', { seconds })
  }

  #refused(said: string, refusal: Refusal): void {
    this.log.note(said, refusal)
    const answer = refusalReply(refusal)
    this.say(answer)
    if (this.transaction?.outcome) this.#endMessage()
    if (answer.code === 421) this.over = true
    if (answer.code < 500 || this.over) return
    const { caller, shared, kind, port, ip } = this
    const gate = caller ? shared.gates.submission : gateOf(shared, kind, port)
    gate.fault(ip)
    const most = gate === shared.gates.publicMx ? MAX_ERRORS_PUBLIC : MAX_ERRORS
    if (++this.#errors >= most) this.close('smtp_many_errors')
  }
}
