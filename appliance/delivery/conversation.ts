import type { Reply } from '../mail/reply.ts'
import type { Step } from '../mail/transcript.ts'
import { DEADLINES } from './deadlines.ts'
import type { Failure } from './outcome.ts'
import { truncateReply, type OpenStep, type Recorder } from './recorder.ts'
import { ConnectionBrokenError, type SmtpClientSocket } from './smtp-wire.ts'
import type { Phase } from '../mail/bounce.ts'

/** Steps that involve the server. */
export type ServerStep = Exclude<Step['name'], 'resolve' | 'policy' | 'connect' | 'quit'>

/**
 * Thrown when the conversation ends early because of a reply or failure. Caught where the session or transaction began.
 */
export class ConversationEndedError extends Error {
  readonly failure: Failure
  /** Whether the server still accepts commands, so that we must send QUIT (RFC 5321 §4.1.1.10). */
  readonly polite: boolean

  constructor(failure: Failure, polite: boolean) {
    super(failure.note)
    this.failure = failure
    this.polite = polite
  }
}

/**
 * The message that uses the connection. Each message records its own steps, and may use another host name for the same
 * IP.
 */
export interface ConnectionUser {
  host: string
  ip: string
  recorder: Recorder
  /** Deadline of the whole attempt, in milliseconds of the steady clock. */
  until: number
}

const PHASES: Partial<Record<ServerStep, Phase>> = { tls: 'starttls', rset: 'mail' }
const phaseOf = (name: ServerStep): Phase => PHASES[name] ?? (name as Phase)

/** Whether a reply is positive (RFC 5321 §4.2.1). */
export const isPositiveReply = ({ code }: Reply): boolean => code >= 200 && code < 300

/** What Posthaste was waiting for when the connection broke, as shown to people. */
const WAITING: Record<ServerStep, string> = {
  greeting: 'waiting for its greeting',
  ehlo: 'waiting for the reply to EHLO',
  starttls: 'waiting for the reply to STARTTLS',
  tls: 'during the TLS handshake',
  rset: 'waiting for the reply to RSET',
  mail: 'waiting for the reply to MAIL',
  rcpt: 'waiting for the reply to RCPT',
  data: 'waiting for the reply to DATA',
  body: 'while sending the message',
}

/**
 * Sends commands and reads replies on a connection, and records both. session.ts and transaction.ts decide what to
 * send.
 */
export class Conversation {
  readonly wire: SmtpClientSocket
  #speaker: ConnectionUser
  /** The step in progress. */
  #now: ServerStep = 'greeting'

  constructor(wire: SmtpClientSocket, speaker: ConnectionUser) {
    this.wire = wire
    this.#speaker = speaker
    wire.until = speaker.until
  }

  /** Assigns the connection to the next message. */
  handTo(speaker: ConnectionUser): void {
    this.#speaker = speaker
    this.#now = 'mail'
    this.wire.until = speaker.until
  }

  /** Starts a step that isn't a command with a reply. */
  begin(name: ServerStep, sent: string | null = null): OpenStep {
    this.#now = name
    return this.#speaker.recorder.begin(name, this.#peer, sent)
  }

  /** Sends several commands together (RFC 2920 §3.1). Read the replies in the same order with `answer`. */
  sayAll(commands: [ServerStep, string][]): OpenStep[] {
    const steps = commands.map(([name, line]) => this.#speaker.recorder.begin(name, this.#peer, line))
    this.wire.write(commands.map(([, line]) => `${line}\r\n`).join(''))
    return steps
  }

  /** Sends a command, if there is one, and reads the reply. Records `note` with the reply. */
  async ask(
    name: ServerStep,
    line: string | null,
    note?: (reply: Reply) => string | null | undefined,
  ): Promise<Reply> {
    const step = this.#speaker.recorder.begin(name, this.#peer, line)
    if (line !== null) this.wire.write(`${line}\r\n`)
    return this.answer(name, step, note)
  }

  /** Reads the reply to a step. 421 may be the reply to any command, and ends the conversation (RFC 5321 §3.8). */
  async answer(
    name: ServerStep,
    step: OpenStep,
    note?: (reply: Reply) => string | null | undefined,
  ): Promise<Reply> {
    this.#now = name
    try {
      const reply = truncateReply(await this.wire.read(DEADLINES[name]))
      step.end({ reply, note: note?.(reply) ?? null })
      if (reply.code === 421 && name !== 'rcpt') this.refuse(reply, phaseOf(name))
      return reply
    } catch (error) {
      if (error instanceof ConnectionBrokenError) step.end({ note: error.message })
      throw error
    }
  }

  /** Records a QUIT whose reply isn't awaited. */
  goodbye(): void {
    this.#speaker.recorder
      .begin('quit', this.#peer, 'QUIT')
      .end({ note: 'Posthaste does not wait for the reply: the outcome is already known and stored.' })
    this.wire.quit(DEADLINES.quit)
  }

  /** Creates a failure that Posthaste detected itself. `note` is a whole sentence. */
  fail(kind: Failure['kind'], phase: Phase, note: string): Failure {
    return { kind, phase, ...this.#peer, reply: null, note }
  }

  /** Creates a failure reported by the server. */
  refusal(reply: Reply, phase: Phase): Failure {
    const kind = reply.code >= 400 ? 'reply' : 'protocol'
    return { kind, phase, ...this.#peer, reply, note: `${this.#speaker.host} answered ${reply.code}.` }
  }

  /** Ends the conversation because of the server's reply. */
  refuse(reply: Reply, phase: Phase): never {
    const polite = reply.code >= 400 && phase !== 'body' && reply.code !== 421
    throw new ConversationEndedError(this.refusal(reply, phase), polite)
  }

  /**
   * Interprets a broken connection.
   * @param dotSent whether the final dot was sent, so that the server may have accepted the message
   */
  broke(broken: ConnectionBrokenError, dotSent = false): Failure {
    const where = dotSent
      ? 'after the whole message was sent: it may have been delivered'
      : WAITING[this.#now]
    return this.fail(broken.kind, phaseOf(this.#now), `${this.#speaker.host} ${broken.message} (${where}).`)
  }

  get #peer(): { host: string; ip: string } {
    const { host, ip } = this.#speaker
    return { host, ip }
  }
}
