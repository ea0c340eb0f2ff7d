/** What is kept of a session: a line for operators, and an entry beside the requests of the API for each message. */
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import { formatReply } from '../mail/reply.ts'
import { refusalReply } from './reply.ts'
import type { Incoming } from '../capacity/capacity.ts'
import type { Mailbox } from '../mail/address.ts'
import type { Arriving, Door, Recipient } from './door.ts'
import type { Body } from './body.ts'
import type { Shared, ListenerKind } from './deps.ts'
import type { SmtpSocket } from './socket.ts'
import type { Caller } from '../senders/caller.ts'

/** One message on its way: from MAIL to the reply after its last octet. */
export interface Transaction {
  from: Mailbox | null
  /** Which door it goes through, and what the door knows of it. */
  door: Door
  arriving: Arriving
  /** By address. */
  recipients: Map<string, Recipient>
  /** Chunks so far (RFC 3030); null before the first. */
  chunks: Body | null
  /** Its octets while they come in; null before the first. */
  incoming: Incoming | null
  /** The memory that a large message takes while it is read. */
  turn: Disposable | null
  /** What became of it; null while it lasts. */
  outcome: { emailId: string | null } | null
}

/** Exchanges of one message that are kept: a hundred recipients and what is around them. */
const MAX_EXCHANGES = 110
/** Longest command and reply that are kept. */
const MAX_TEXT = 300

/** A command and its reply. */
interface Exchange {
  said: string
  answer: Reply
}

/** What the log reads of a session, at the time it writes. */
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
  /** The last exchange, and the refusal that decided; null: none. */
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

  /** Notes a command and its reply. Commands with secrets are named, not repeated. */
  note(said: string, answer: Reply | Refusal): void {
    const exchange = {
      said: said.slice(0, MAX_TEXT).toWellFormed(),
      answer: answer instanceof Refusal ? refusalReply(answer) : answer,
    }
    this.#last = exchange
    if (exchange.answer.code >= 400 && !(this.#refused && isConsequence(exchange))) this.#refused = exchange
    if (this.#exchanges.length < MAX_EXCHANGES) this.#exchanges.push(exchange)
  }

  /** From here on the session is somebody's. */
  signedIn(): void {
    this.#signedIn = true
  }

  /** Begins the entry of a message with its MAIL. */
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

  /** The line that joins the email to its session, whose own line comes at its end. */
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

  /** The end of the session. One that signed in and sent nothing has its entry, too. */
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

  /** A message that was refused at its MAIL, or a session that ended with a refusal. */
  #addRefused(): void {
    if (this.#refused) this.#add(commandOf(this.#refused), this.#refused, [], {})
  }

  /** @param what the command that was decided about @param decision its exchange */
  #add(what: string, decision: Exchange | null, emailIds: string[], request: Record<string, unknown>): void {
    const { shared, caller, kind, port, ip, helo, socket } = this.#session
    // Sessions without a key of ours belong to no team: the daemon's own log has them.
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

/** A client that pipelines (RFC 2920) goes on after a refusal, and hears that its commands come out of order. */
const isConsequence = ({ answer }: Exchange): boolean => answer.enhanced === '5.5.1'

const isSignIn = ({ said }: Exchange): boolean => said.startsWith('AUTH')

/** `MAIL FROM:<app@acme.example>` without parameters, or the verb of another command; `SESSION` where the server ended it by itself. */
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
