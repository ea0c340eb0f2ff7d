/**
 * What the users of the SMTP server supply: whether a message may come, and where it goes. There are two: apps that sign in submit
 * (submission/), and everybody else reaches the public MX (inbound/).
 */
import type { Mailbox } from '../mail/address.ts'
import type { EnvelopeDsn, RecipientDsn } from '../mail/dsn.ts'
import type { Reply } from '../mail/reply.ts'
import type { Caller } from '../senders/caller.ts'

/** Who sends, as far as the session knows at MAIL. */
export interface Client {
  readonly ip: string
  /** The name in EHLO or HELO. */
  readonly helo: string
  /** Whether it said EHLO. */
  readonly extended: boolean
  /** Version of TLS; null in the clear. */
  readonly tls: string | null
  /** Whether the network stands for the client, so that nobody signed in. */
  readonly trusted: boolean
  /** Null at the public MX. */
  readonly caller: Caller | null
}

/** What MAIL says. */
export interface MailCommand {
  /** Null for the null sender. */
  from: Mailbox | null
  smtpUtf8: boolean
  requireTls: boolean
  /** Octets, as the client says (RFC 1870); 0: it does not. */
  size: number
  dsn: EnvelopeDsn
}

/** A recipient as RCPT names it. */
export interface Recipient {
  mailbox: Mailbox
  dsn: RecipientDsn
}

/** One message on its way to a door. Every method refuses by throwing a `Refusal`. */
export interface Arriving {
  /** Largest message for the recipients so far, in octets. */
  readonly messageBytes: number
  /** Whether a recipient is taken. A copy of one that was taken is not asked for again. */
  rcpt(recipient: Recipient): Promise<void> | void
  /** Whether the message may follow; asked once, before its first octet. */
  admit(): void
  /** Stores the message. Once it resolves, the message is durable; the reply is 250. */
  take(bytes: Buffer, recipients: readonly Recipient[]): Promise<Taken>
}

/** A message that was stored. */
export interface Taken {
  reply: Reply
  /** The email that it became; null: none. */
  emailId: string | null
}

export interface Door {
  /** Largest message, in octets. */
  readonly messageBytes: number
  /** How long a message may take to come in (milliseconds). */
  readonly messageMs: number
  /** Longest line of a message, in octets without CRLF. */
  readonly lineOctets: number
  /** Begins a message. Refuses by throwing. */
  begin(client: Client, mail: MailCommand): Promise<Arriving> | Arriving
}

/** The door for those who sign in. */
export interface SubmissionDoor extends Door {
  /** Who has this API key; undefined: nobody. */
  authenticate(password: string): Promise<Caller | undefined>
  /** The present rights of a key; undefined: it was revoked. */
  callerOf(apiKeyId: string): Promise<Caller | undefined>
}
