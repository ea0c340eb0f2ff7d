/** What is kept of a session: a line for operators, and an entry beside the requests of the API for each message. */
import { newId } from '../mail/ids.ts'
import { Refusal } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import { formatReply } from '../mail/reply.ts'
import { refusalReply } from './reply.ts'
import type { Session, Transaction } from './session.ts'

/** Exchanges of one message that are kept: a hundred recipients and what is around them. */
const MAX_EXCHANGES = 110
/** Longest command and reply that are kept. */
const MAX_TEXT = 300

export class SessionLog {
  readonly #session: Session
  #exchanges: { said: string; answer: Reply }[] = []
  #since: number
  #status = 200
  #size = 0
  #messages = 0
  #signedIn = false
  #added = false

  constructor(session: Session) {
    this.#session = session
    this.#since = session.startedAt
  }

  /** Notes a command and its reply. Commands with secrets are named, not repeated. */
  note(said: string, answer: Reply | Refusal): void {
    const last = answer instanceof Refusal ? refusalReply(answer) : answer
    if (answer instanceof Refusal) this.#status = answer.status
    if (this.#exchanges.length < MAX_EXCHANGES)
      this.#exchanges.push({ said: said.slice(0, MAX_TEXT), answer: last })
  }

  /** From here on the session is somebody's. */
  signedIn(): void {
    this.#signedIn = true
  }

  /** Begins the entry of a message with its MAIL. */
  beginTransaction(): void {
    this.#addRefused()
    this.#exchanges = []
    this.#since = this.#session.shared.clock.now()
    this.#status = 200
    this.#size = 0
  }

  sized(octets: number): void {
    this.#size = octets
  }

  /** Ends the entry of a message. */
  endTransaction({ from, recipients, outcome }: Transaction): void {
    const emailId = outcome?.emailId ?? null
    if (emailId !== null) this.#accepted(emailId, recipients.size)
    this.#add('MAIL', emailId === null ? [] : [emailId], {
      mail_from: from?.address ?? '',
      rcpt_to: [...recipients.keys()],
      size: this.#size,
    })
    this.#exchanges = []
    this.#status = 200
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
    if (this.#status >= 400) this.#addRefused()
    else if (this.#signedIn && !this.#added) this.#add('AUTH', [], {})
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
    if (this.#exchanges.length === 0 || this.#status < 400) return
    this.#add(this.#exchanges.some(({ said }) => /^MAIL /i.test(said)) ? 'MAIL' : 'SESSION', [], {})
  }

  #add(what: string, emailIds: string[], request: Record<string, unknown>): void {
    const { shared, caller, kind, port, ip, helo, socket } = this.#session
    // Sessions without a key of ours belong to no team: the daemon's own log has them.
    if (!caller?.apiKey || !shared.requestLog) return
    this.#added = true
    const now = shared.clock.now()
    shared.requestLog.add({
      id: newId(now),
      teamId: caller.teamId,
      apiKeyId: caller.apiKey.id,
      method: 'SMTP',
      endpoint: `smtp://${port} ${what}`,
      status: this.#status,
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

function shown({ said, answer }: { said: string; answer: Reply }): { said: string; reply: string } {
  return {
    said: said.toWellFormed(),
    reply: formatReply(answer).slice(0, MAX_TEXT).toWellFormed(),
  }
}
