/**
 * Interfaces that users of the SMTP server implement to accept or refuse messages and to store them. There are two such
 * users: submission for authenticated apps (submission/), and the public MX for everyone else (inbound/).
 */
import type { Mailbox } from '../mail/address.ts'
import type { EnvelopeDsn, RecipientDsn } from '../mail/dsn.ts'
import type { Reply } from '../mail/reply.ts'
import type { Caller } from '../senders/api-keys.ts'

/** The session's data about the client, at the time of MAIL. */
export interface Client {
  readonly ip: string
  /** The name given in EHLO or HELO. */
  readonly helo: string
  /** Whether the client used EHLO. */
  readonly extended: boolean
  /** TLS version; null for plaintext. */
  readonly tls: string | null
  /** Whether the client was accepted because of its network, without AUTH. */
  readonly trusted: boolean
  /** The authenticated caller; null at the public MX. */
  readonly caller: Caller | null
}

/** A parsed MAIL command. */
export interface MailCommand {
  /** The sender; null for the null reverse-path `<>`. */
  from: Mailbox | null
  smtpUtf8: boolean
  requireTls: boolean
  /** The SIZE that the client declared, in octets (RFC 1870); 0 if it declared none. */
  size: number
  dsn: EnvelopeDsn
}

/** A recipient as given in RCPT. */
export interface Recipient {
  mailbox: Mailbox
  dsn: RecipientDsn
}

/** A message being received. Every method refuses by throwing a `Refusal`. */
export interface IncomingMessage {
  /** Size limit for the recipients so far, in octets. */
  readonly messageBytes: number
  /** Checks a recipient. Not called again for a duplicate of an accepted recipient. */
  rcpt(recipient: Recipient): Promise<void> | void
  /** Checks whether the message may be sent. Called once, before its first octet. */
  admit(): void
  /** Stores the message. When the promise resolves, the message is durable and the reply is 250. */
  take(bytes: Buffer, recipients: readonly Recipient[]): Promise<StoredMessage>
}

/** A stored message. */
export interface StoredMessage {
  reply: Reply
  /** ID of the email that was created; null if there is none. */
  emailId: string | null
  /** Whether the sender is authenticated and the message was wanted. */
  wanted?: boolean
}

export interface MailHandler {
  /** Maximum message size, in octets. */
  readonly messageBytes: number
  /** Time limit for receiving a message, in milliseconds. */
  readonly messageMs: number
  /** Maximum line length of a message, in octets without CRLF. */
  readonly lineOctets: number
  /** Starts a message. Throws a `Refusal` to refuse it. */
  begin(client: Client, mail: MailCommand): Promise<IncomingMessage> | IncomingMessage
}

/** Accepts messages of authenticated clients. */
export interface SubmissionHandler extends MailHandler {
  /** Finds the owner of an API key; undefined if the key is unknown. */
  authenticate(password: string): Promise<Caller | undefined>
  /** Returns the current rights of a key; undefined if it was revoked. */
  callerOf(apiKeyId: string): Promise<Caller | undefined>
}
