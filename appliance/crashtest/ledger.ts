/** The tester's own records, kept outside of the daemon: the evidence. */

/** A kill by the tester, or another fault. */
export interface Kill {
  number: number
  /** The runs of daemons that it hit. */
  runs: number[]
  /** `random`, the crash point, or the kind of fault. */
  how: string
  /** When the process was gone or stopped (Unix milliseconds). */
  at: number
  /** When what was stopped continued (Unix milliseconds). Null: the runs ended. */
  until: number | null
  /** Conversations open at the exchangers. */
  conversations: number
  /**
   * Deliveries in flight (leased but not settled), as the next run or the tester found them in storage. Null when no one
   * could.
   */
  inFlight: number | null
  /** Milliseconds until other nodes had freed the leases of the node; null when the test didn't wait for that. */
  freedMs: number | null
}

/** One attempt to submit over SMTP, which has no idempotency key; each has its own mark. */
export interface SmtpTry {
  mark: string
  run: number
  /** The 250 after the final dot was read. */
  accepted: boolean
}

/** An email that a client wanted to send. */
export interface Sent {
  /** Identifies the message for the exchangers; over SMTP, followed by the number of the attempt. */
  mark: string
  recipients: string[]
  /** REST: the ids in responses, without duplicates. */
  ids: string[]
  /** SMTP: attempts in which something was sent. */
  tries: SmtpTry[]
  /** When its client began to send it (Unix milliseconds). */
  at: number
  /** The idempotency key of its batch; null for a request of its own. */
  batch: string | null
  /** Scheduled: no copy may arrive before (Unix milliseconds). Null for at once. */
  notBefore: number | null
  /** Why the daemon refused it permanently; a fault, because every request is valid. */
  refused: string | null
}

/** A message that another mail server wanted to deliver to the public MX. */
export interface Arrival {
  mark: string
  /** A receiving address, or the return path of an email. */
  recipient: string
  /** The email and the recipient that a delivery report is about; null for other mail. */
  about: { emailId: string; recipient: string } | null
  tries: SmtpTry[]
  /** Why the daemon refused it permanently; a fault, because every message is valid. */
  refused: string | null
}

/** A received email, from the daemon's final report. */
export interface KnownReceived {
  id: string
  mark: string
  /** Whether the stored text is identical to what was sent. */
  whole: boolean
}

/** A domain whose mail was held, as the operator knows it. */
export interface Hold {
  domain: string
  /** When the hold was acknowledged with 200: mail sent later waits (Unix milliseconds). */
  from: number
  /** When its release was first requested; null before. */
  until: number | null
}

/** A copy of a message that an exchanger accepted. */
export interface Copy {
  mark: string
  recipient: string
  messageId: string
  /** The run of the daemon that opened the connection. */
  run: number
  /** When 250 was written (Unix milliseconds). */
  at: number
  /** Number of the connection. */
  connection: number
  /** Whether the text was identical to what was sent. */
  whole: boolean
}

/** A request received by the webhook endpoint. */
export interface Told {
  /** `svix-id`, the same in every attempt. */
  id: string
  /** Null when it isn't about an email. */
  emailId: string | null
  type: string
  /** When the event happened (Unix milliseconds). */
  at: number
  /** The recipients concerned. */
  to: string[]
}

/** An event of an email, from the daemon's final report. */
export interface KnownEvent {
  emailId: string
  type: string
  /** Unix milliseconds. */
  at: number
}

/** All evidence for the verdict. */
export interface Ledger {
  kills: Kill[]
  sent: Sent[]
  copies: Copy[]
  /** Connections that the daemon ended with QUIT, so that no kill broke them. */
  quit: Set<number>
  /** What other mail servers sent to the public MX. */
  arrivals: Arrival[]
  /** Every received email. Null when the last daemon wasn't asked. */
  received: KnownReceived[] | null
  /** By email: how many messages to its return path are stored and read, from the daemon's final report. */
  returned: Record<string, number>
  /** Every acknowledged hold. */
  holds: Hold[]
  /** Recipients that an exchanger refused permanently. */
  rejected: Set<string>
  /** What the webhook endpoint received, in order. */
  told: Told[]
  /**
   * The events of all emails, from the last daemon: what the endpoint must have received. Null when it wasn't asked.
   */
  known: KnownEvent[] | null
}

export const emptyLedger = (): Ledger => ({
  kills: [],
  sent: [],
  copies: [],
  quit: new Set(),
  holds: [],
  arrivals: [],
  received: null,
  returned: {},
  rejected: new Set(),
  told: [],
  known: null,
})
