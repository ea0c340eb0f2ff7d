/** Logs a session: a line in the daemon's log, and an entry in the request log for each message. */
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import { type Reply, formatReply } from '../mail/reply.ts'
import { refusalReply } from './reply.ts'
import type { Incoming } from '../capacity/capacity.ts'
import type { Mailbox } from '../mail/address.ts'
import type { Arriving, MailHandler, Recipient } from './handler.ts'
import type { Body } from './body.ts'
import type { Shared, ListenerKind } from './deps.ts'
import type { SmtpSocket } from './socket.ts'
import type { Caller } from '../senders/api-keys.ts'

/** One message, from MAIL to the reply after its last octet. */
export interface Transaction {
  from: Mailbox | null
  /** The handler of the message, and the handler's state for it. */
  handler: MailHandler
  arriving: Arriving
  /** Accepted recipients by address. */
  recipients: Map<string, Recipient>
  /** BDAT chunks so far (RFC 3030); null before the first. */
  chunks: Body | null
  /** The octets received so far; null before the first. */
  incoming: Incoming | null
  /** Memory reservation for a large message while it is parsed. */
  turn: Disposable | null
  /** The outcome; null until there is one. */
  outcome: { emailId: string | null } | null
}

/** Maximum number of exchanges kept per message, enough for a hundred recipients and the other commands. */
const MAX_EXCHANGES = 110
/** Maximum length of a logged command or reply. */
const MAX_TEXT = 300

/** A command and its reply. */
interface Exchange {
  said: string
  answer: Reply
}

/** Fields of the session that the log reads when it writes an entry. */
export interface LoggedSession {
  readonly id: string
  readonly startedAt: number
  readonly shared: Shared
  readonly socket: SmtpSocket
  readonly kind: ListenerKind
  readonly port: number
  readonly ip: string
  readonly helo: { name: string } | null
  readonly caller: Caller | null
}

export class SessionLog {
  readonly #session: LoggedSession
  #exchanges: Exchange[] = []
  /** The last exchange, and the refusal that ended the message; null for none. */
  #last: Exchange | null = null
  #refused: Exchange | null = null
  #since: number
  #size = 0
  #messages = 0
  #signedIn = false
  #added = false

  constructor(session: LoggedSession) {
    this.#session = session
    this.#since = session.startedAt
  }

  /** Records a command and its reply. Commands with secrets are logged without their arguments. */
  note(said: string, answer: Reply | Refusal): void {
    const exchange = {
      said: said.slice(0, MAX_TEXT).toWellFormed(),
      answer: answer instanceof Refusal ? refusalReply(answer) : answer,
    }
    this.#last = exchange
    if (exchange.answer.code >= 400 && !(this.#refused && isConsequence(exchange))) this.#refused = exchange
    if (this.#exchanges.length < MAX_EXCHANGES) this.#exchanges.push(exchange)
  }

  /** Marks the session as authenticated. */
  signedIn(): void {
    this.#signedIn = true
  }

  /** Starts the entry of a message at its MAIL. */
  beginTransaction(): void {
    this.#addRefused()
    this.#forget()
    this.#since = this.#session.shared.clock.now()
    this.#size = 0
  }

  sized(octets: number): void {
    this.#size = octets
  }

  /** Ends the entry of a message. */
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

  /** Logs a line that links the email to its session; the session's own line comes at its end. */
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

  /** Ends the session. An authenticated session without a message gets an entry, too. */
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

  /** Adds an entry for a message refused at MAIL, or a session that ended with a refusal. */
  #addRefused(): void {
    if (this.#refused) this.#add(commandOf(this.#refused), this.#refused, [], {})
  }

  /**
   * @param what the command that was refused or accepted
   * @param decision its exchange
   */
  #add(what: string, decision: Exchange | null, emailIds: string[], request: Record<string, unknown>): void {
    const { shared, caller, kind, port, ip, helo, socket } = this.#session
    // Sessions without an API key belong to no team. The daemon's own log has them.
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
 * the commands after a refusal.
 */
const isConsequence = ({ answer }: Exchange): boolean => answer.enhanced === '5.5.1'

const isSignIn = ({ said }: Exchange): boolean => said.startsWith('AUTH')

/**
 * Shortens a command to `MAIL FROM:<app@acme.example>` without parameters, or to its verb; `SESSION` when the server
 * ended the session.
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
