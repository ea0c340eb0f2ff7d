/** Logs sessions: a line in the daemon's log for each session, and an entry in the request log for each message. */
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import { type Reply, formatReply } from '../mail/reply.ts'
import { formatRefusal } from './reply.ts'
import type { IncomingBody } from '../capacity/capacity.ts'
import type { Mailbox } from '../mail/address.ts'
import type { IncomingMessage, MailHandler, Recipient } from './handler.ts'
import type { Body } from './body.ts'
import type { SharedState, ListenerKind } from './deps.ts'
import type { SmtpSocket } from './socket.ts'
import type { Caller } from '../senders/api-keys.ts'

/** A message, from MAIL to the reply after its last octet. */
export interface Transaction {
  from: Mailbox | null
  /** The handler of the message, and the handler's state for it. */
  handler: MailHandler
  arriving: IncomingMessage
  /** Accepted recipients, by address. */
  recipients: Map<string, Recipient>
  /** BDAT chunks so far (RFC 3030); null before the first chunk. */
  chunks: Body | null
  /** The octets received so far; null before the first one. */
  incoming: IncomingBody | null
  /** Memory reservation for a large message while it is parsed. */
  turn: Disposable | null
  /** The outcome; null until it is known. */
  outcome: { emailId: string | null } | null
}

/** Maximum number of exchanges kept per message, which is enough for a hundred recipients and the other commands. */
const MAX_EXCHANGES = 110
/** Maximum length of a logged command or reply. */
const MAX_TEXT = 300

/** A command and its reply. */
interface Exchange {
  said: string
  answer: Reply
}

/** Fields of the session that the log reads when it writes an entry. */
export interface SessionLogFields {
  readonly id: string
  readonly startedAt: number
  readonly shared: SharedState
  readonly socket: SmtpSocket
  readonly kind: ListenerKind
  readonly port: number
  readonly ip: string
  readonly helo: { name: string } | null
  readonly caller: Caller | null
}

export class SessionLog {
  readonly #session: SessionLogFields
  #exchanges: Exchange[] = []
  /** The last exchange, and the refusal that ended the message; null if there is none. */
  #last: Exchange | null = null
  #refused: Exchange | null = null
  #since: number
  #size = 0
  #messages = 0
  #signedIn = false
  #added = false

  constructor(session: SessionLogFields) {
    this.#session = session
    this.#since = session.startedAt
  }

  /** Records a command and its reply. Commands with secrets are logged without their arguments. */
  note(said: string, answer: Reply | Refusal): void {
    const exchange = {
      said: said.slice(0, MAX_TEXT).toWellFormed(),
      answer: answer instanceof Refusal ? formatRefusal(answer) : answer,
    }
    this.#last = exchange
    if (exchange.answer.code >= 400 && !(this.#refused && isConsequence(exchange))) this.#refused = exchange
    if (this.#exchanges.length < MAX_EXCHANGES) this.#exchanges.push(exchange)
  }

  /** Marks the session as authenticated. */
  signedIn(): void {
    this.#signedIn = true
  }

  /** Starts the log entry of a message, at its MAIL command. */
  beginTransaction(): void {
    this.#addRefused()
    this.#forget()
    this.#since = this.#session.shared.clock.now()
    this.#size = 0
  }

  sized(octets: number): void {
    this.#size = octets
  }

  /** Ends the log entry of a message. */
  endTransaction({ from, recipients, outcome }: Transaction): void {
    const emailId = outcome?.emailId ?? null
    if (emailId !== null) this.#accepted(emailId, recipients.size)
    const refused = emailId === null ? this.#refused : null
    this.#add(
      refused ? commandOf(refused) : 'MAIL',
      refused ?? this.#last,
      emailId === null ? [] : [emailId],
      {
        mail_from: from?.address ?? '',
        rcpt_to: [...recipients.keys()],
        size: this.#size,
      },
    )
    this.#forget()
  }

  #forget(): void {
    this.#exchanges = []
    this.#last = null
    this.#refused = null
  }

  /** Logs a line that links the email to its session. The session's own line follows at its end. */
  #accepted(emailId: string, recipients: number): void {
    this.#messages += 1
    const { id, shared, caller } = this.#session
    const about = { session_id: id, team_id: caller?.teamId, api_key_id: caller?.apiKey?.id }
    const ms = shared.clock.now() - this.#since
    shared.log.info(
      { email_id: emailId, ...about, recipients, size: this.#size, ms },
      'smtp message accepted',
    )
  }

  /** Ends the session. An authenticated session without a message also gets an entry. */
  end(): void {
    const { id, shared, kind, port, ip, caller, helo, startedAt } = this.#session
    if (this.#refused) this.#addRefused()
    else if (this.#signedIn && !this.#added)
      this.#add('AUTH', this.#exchanges.findLast(isSignIn) ?? this.#last, [], {})
    shared.log.info(
      {
        session_id: id,
        listener: kind.name,
        port,
        ip,
        helo: helo?.name.slice(0, 100),
        tls: this.#session.socket.tls?.getProtocol() ?? null,
        team_id: caller?.teamId,
        api_key_id: caller?.apiKey?.id,
        messages: this.#messages,
        ms: shared.clock.now() - startedAt,
      },
      'smtp session',
    )
  }

  /** Adds an entry for a message that was refused at MAIL, or for a session that ended with a refusal. */
  #addRefused(): void {
    if (this.#refused) this.#add(commandOf(this.#refused), this.#refused, [], {})
  }

  /**
   * @param what the command that was refused or accepted
   * @param decision the exchange with this command
   */
  #add(what: string, decision: Exchange | null, emailIds: string[], request: Record<string, unknown>): void {
    const { shared, caller, kind, port, ip, helo, socket } = this.#session
    // A session without an API key belongs to no team. It is only in the daemon's own log.
    if (!caller?.apiKey || !shared.requestLog) return
    this.#added = true
    const now = shared.clock.now()
    const { code, enhanced, text } = decision?.answer ?? { code: 250, enhanced: null, text: '' }
    shared.requestLog.add({
      id: newId(now),
      teamId: caller.teamId,
      apiKeyId: caller.apiKey.id,
      method: 'SMTP',
      endpoint: `smtp://${port} ${what}`,
      query: null,
      status: code,
      enhanced,
      message: code >= 400 ? text.slice(0, MAX_TEXT).toWellFormed() : null,
      durationMs: now - this.#since,
      ip,
      userAgent: helo?.name ?? null,
      requestBody: JSON.stringify({
        listener: kind.name,
        tls: socket.tls?.getProtocol() ?? null,
        ...request,
      }),
      responseBody: JSON.stringify({ replies: this.#exchanges.map(shown) }),
      emailIds,
      createdAt: this.#since,
    })
  }
}

/**
 * Whether a refusal is only a consequence of an earlier one. A client that pipelines (RFC 2920) gets "bad sequence" for
 * all commands after a refusal.
 */
const isConsequence = ({ answer }: Exchange): boolean => answer.enhanced === '5.5.1'

const isSignIn = ({ said }: Exchange): boolean => said.startsWith('AUTH')

/**
 * Shortens a command to `MAIL FROM:<app@acme.example>` without parameters, or to its verb. Returns `SESSION` if the
 * server ended the session.
 */
function commandOf({ said }: Exchange): string {
  const [, verb, path] = /^(MAIL FROM|RCPT TO):\s*(<[^>]*>)/i.exec(said) ?? []
  if (verb !== undefined && path !== undefined) return `${verb.toUpperCase()}:${path}`
  return said.split(' ', 1)[0]!.toUpperCase() || 'SESSION'
}

function shown({ said, answer }: Exchange): { said: string; reply: string } {
  return {
    said,
    reply: formatReply(answer).slice(0, MAX_TEXT).toWellFormed(),
  }
}
