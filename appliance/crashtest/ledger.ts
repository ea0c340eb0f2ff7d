/** The tester's own records, kept outside of the daemon, which serve as evidence. */

/** A kill by the tester, or another fault that it made. */
export interface Kill {
  number: number
  /** The runs of daemons that were hit. */
  runs: number[]
  /** Kind of fault: `random`, the name of the crash point, or another kind. */
  how: string
  /** When the process was gone or stopped (Unix milliseconds). */
  at: number
  /** When the stopped process continued (Unix milliseconds); null if the runs ended. */
  until: number | null
  /** Number of conversations open at the exchangers. */
  conversations: number
  /**
   * Number of deliveries in flight (leased but not settled), as found in storage by the next run or by the tester. Null
   * when it could not be read.
   */
  inFlight: number | null
  /**
   * The deliveries in flight, each as the ID of its email, a space and its recipient. Null when only their number is
   * known.
   */
  leased: string[] | null
  /** Milliseconds until other nodes had freed the node's leases; null when the test didn't wait for that. */
  freedMs: number | null
}

/** One attempt to submit over SMTP. Each attempt has its own mark, because SMTP has no idempotency key. */
export interface SmtpAttempt {
  mark: string
  run: number
  /** Whether the 250 after the final dot was read. */
  accepted: boolean
}

/** An email that a client wanted to send. */
export interface SentEmail {
  /** Identifies the message for the exchangers; over SMTP, followed by the number of the attempt. */
  mark: string
  recipients: string[]
  /** The IDs in REST responses, without duplicates. */
  ids: string[]
  /** The SMTP attempts, except those whose connection broke before the message was begun. */
  tries: SmtpAttempt[]
  /** When the client began to send the email (Unix milliseconds). */
  at: number
  /** The idempotency key of its batch; null for an email with its own request. */
  batch: string | null
  /** The scheduled time, before which no copy may arrive (Unix milliseconds); null if the email isn't scheduled. */
  notBefore: number | null
  /** Why the daemon refused the email permanently. A fault, because every request is valid. */
  refused: string | null
}

/** A message that another mail server wanted to deliver to the public MX. */
export interface Arrival {
  mark: string
  /** Recipient: an address of the receiving domain, or the return path of an email. */
  recipient: string
  /** The email and the recipient that a delivery report is about; null for other mail. */
  about: { emailId: string; recipient: string } | null
  tries: SmtpAttempt[]
  /** Why the daemon refused the message permanently. A fault, because every message is valid. */
  refused: string | null
}

/** A received email, from the daemon's final report. */
export interface ReportedReceivedEmail {
  id: string
  mark: string
  /** Whether the stored text is identical to the sent text. */
  whole: boolean
}

/** A hold on a domain's mail, as recorded by the operator. */
export interface Hold {
  domain: string
  /** When the hold was acknowledged with 200 (Unix milliseconds). Mail sent later must wait. */
  from: number
  /** When its release was first requested; null before. */
  until: number | null
}

/** A copy of a message that an exchanger accepted. */
export interface AcceptedCopy {
  mark: string
  recipient: string
  messageId: string
  /** Number of the run of the daemon that opened the connection. */
  run: number
  /** When 250 was written (Unix milliseconds). */
  at: number
  /** Number of the connection. */
  connection: number
  /** Whether the text was identical to the sent text. */
  whole: boolean
}

/** A request received by the webhook endpoint. */
export interface ReceivedWebhook {
  /** `svix-id`, the same in every attempt. */
  id: string
  /** ID of the email; null when the event isn't about an email. */
  emailId: string | null
  type: string
  /** When the event happened (Unix milliseconds). */
  at: number
  /** The recipients concerned. */
  to: string[]
}

/** An event of an email, from the daemon's final report. */
export interface ReportedEvent {
  emailId: string
  type: string
  /** Unix milliseconds. */
  at: number
}

/** All evidence that the verdict is based on. */
export interface Ledger {
  kills: Kill[]
  sent: SentEmail[]
  copies: AcceptedCopy[]
  /** Connections that the daemon ended with QUIT, which therefore weren't broken by a kill. */
  quit: Set<number>
  /** Messages from other mail servers to the public MX. */
  arrivals: Arrival[]
  /** Every received email, from the daemon's final report. Null when there was no report. */
  received: ReportedReceivedEmail[] | null
  /** Number of messages to each email's return path that are stored and read, from the daemon's final report. */
  returned: Record<string, number>
  /** Every acknowledged hold. */
  holds: Hold[]
  /** Recipients that an exchanger refused permanently. */
  rejected: Set<string>
  /** The requests that the webhook endpoint received, in order. */
  told: ReceivedWebhook[]
  /**
   * The events of all emails, which the endpoint must have received, from the final report. Null when there was no
   * report.
   */
  known: ReportedEvent[] | null
}

export const createLedger = (): Ledger => ({
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
