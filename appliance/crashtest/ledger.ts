/** What the tester itself saw, kept outside of the daemon: the evidence. */

/** An end of the daemon that the tester made. */
export interface Kill {
  number: number
  /** Which start of the daemon it ended. */
  run: number
  /** `random`, or the named point. */
  how: string
  /** When the tester saw the process gone (Unix milliseconds). */
  at: number
  /** Conversations that were open at the exchangers. */
  conversations: number
  /**
   * Deliveries that were in flight: leased, and not settled, as the next start found them in its storage. Null: no later start came to
   * tell, or the first that did look was killed before.
   */
  inFlight: number | null
}

/** One try to submit over SMTP, which has no idempotency key: each try carries a mark of its own. */
export interface SmtpTry {
  mark: string
  run: number
  /** 250 after the final dot was read. */
  accepted: boolean
}

/** One email that a client wanted to send. */
export interface Sent {
  /** What is in the message, so that the exchangers know it again; over SMTP followed by the number of the try. */
  mark: string
  recipients: string[]
  /** REST: the ids that were answered, each once. */
  ids: string[]
  /** SMTP: tries in which something was said. */
  tries: SmtpTry[]
  /** When its client began to send it (Unix milliseconds). */
  at: number
  /** The idempotency key of the batch that it is of; null: it has a request of its own. */
  batch: string | null
  /** Scheduled: no copy of it may come before (Unix milliseconds). Null: at once. */
  notBefore: number | null
  /** What the daemon said no to for good; a fault, as nothing here is wrong. */
  refused: string | null
}

/** A domain whose mail was held, as the operator knows it. */
export interface Hold {
  domain: string
  /** When the hold was answered with 200: mail that is sent from then on waits (Unix milliseconds). */
  from: number
  /** When its release was asked for the first time; null: not yet. */
  until: number | null
}

/** A copy of a message that an exchanger answered 250. */
export interface Copy {
  mark: string
  recipient: string
  messageId: string
  /** The start of the daemon in which the connection was opened. */
  run: number
  /** When 250 was written (Unix milliseconds). */
  at: number
  /** The connection over which it came, counted. */
  connection: number
  /** The text was as it was sent, to the last octet. */
  whole: boolean
}

/** A request that the webhook endpoint took. */
export interface Told {
  /** `svix-id`, the same in every attempt. */
  id: string
  /** Null for what is not about an email. */
  emailId: string | null
  type: string
  /** When it happened (Unix milliseconds). */
  at: number
  /** Whom it concerns. */
  to: string[]
}

/** An event of an email, as the daemon lists it in the end. */
export interface KnownEvent {
  emailId: string
  type: string
  /** Unix milliseconds. */
  at: number
}

/** Everything that the verdict is made of. */
export interface Ledger {
  kills: Kill[]
  sent: Sent[]
  copies: Copy[]
  /** Connections that the daemon ended with QUIT: no kill broke them. */
  quit: Set<number>
  /** Every hold that was acknowledged. */
  holds: Hold[]
  /** Recipients that an exchanger refused for good. */
  rejected: Set<string>
  /** What the webhook endpoint was told, in the order of the requests. */
  told: Told[]
  /** The events of all emails, asked of the last daemon: what the endpoint must have been told. Null: it did not come to that. */
  known: KnownEvent[] | null
}

export const emptyLedger = (): Ledger => ({
  kills: [],
  sent: [],
  copies: [],
  quit: new Set(),
  holds: [],
  rejected: new Set(),
  told: [],
  known: null,
})
