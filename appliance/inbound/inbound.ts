/**
 * Receives mail on port 25 without authentication: to receiving domains (receive.ts), to the return path of an email
 * that was sent from here (RFC 5321 §3.6.3), to the report address of a domain (domain-reports.ts), and to postmaster
 * and abuse (RFC 5321 §4.5.1, RFC 2142).
 *
 * Only returned mail with a valid MAC in its return path is read and can change the state of an email. Posthaste never
 * sends a report about received mail: it refuses mail while the client waits.
 */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
import type { Mailbox } from '../mail/address.ts'
import { newId } from '../mail/ids.ts'
import { findRule, type ReceivingRule } from '../mail/receiving-rules.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { isReportLocal, buildReportAddress } from '../mail/report-address.ts'
import { parseReturnPath } from '../mail/return-path.ts'
import { createReturnPaths, maySend, type ReturnPaths } from '../senders/senders.ts'
import type {
  PostmasterLimits,
  ReceivedMessage,
  Receiver,
  ReportReceivingDomain,
  ReturnedMailLimits,
  Storage,
} from '../storage/storage.ts'
import type { Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createDomainReports, type ReportMessage } from './domain-reports.ts'
import { createReturnedMailWorker } from './returned-mail.ts'
import { createForwarder } from './forward.ts'
import { createReceivedForwarder, type ReceivedForwarderDeps } from './forward-received.ts'
import type { ReturnedMailTables } from './reading/returned-reader.ts'
import { createNetworkRateLimiter } from './rates.ts'
import {
  RECEIVED_LIMITS,
  receiveMessage,
  type ReceiveArgs,
  type ReceiveDeps,
  type ReceiveResult,
} from './receive.ts'
import type { SendNotice } from '../intake/notice.ts'

/** Describes a recipient. */
export interface ResolvedRecipient {
  /** The email that the return path belongs to; null for postmaster and abuse. */
  emailId: string | null
  /** Whether the return path has a valid MAC. */
  proven: boolean
  /** The address as the client wrote it. */
  address: string
  /** The receiving domain; null for other recipients. */
  receiver: Receiver | null
  /** The domain that receives reports at this address; null for other recipients. */
  reported: ReportReceivingDomain | null
  /** The receiving rule that applies; only with `receiver`. */
  rule?: ReceivingRule
}

/** The envelope of an incoming message. */
export type InboundEnvelope = Pick<ReceivedMessage, 'mailFrom' | 'ip' | 'helo' | 'tls'>

export interface MailReceiver {
  /** Size limit for any message, in bytes. */
  readonly receivedBytes: number
  /** Returns the size limit for messages to this recipient, in bytes. */
  limitOf(addressee: ResolvedRecipient): number
  /** Finds a recipient. Refuses: `smtp_relay`, `inbound_unknown`, `received_unknown`, `unavailable`. */
  addressee(mailbox: Mailbox): Promise<ResolvedRecipient>
  /** Checks the sender and the rate limit, and counts a message. Refuses: `inbound_sender`, `inbound_rate`. */
  admit(addressee: ResolvedRecipient, arrival: Pick<InboundEnvelope, 'mailFrom' | 'ip'>): void
  /**
   * Stores a message and returns its id once the message is durable. Refuses: `message_loop`, `inbound_full`,
   * `disk_full`, `unavailable`, …
   */
  keep(addressee: ResolvedRecipient, arrival: InboundEnvelope, bytes: Uint8Array): Promise<string>
  /** Stores a message for receiving domains, as `keep` does. Refuses: `message_loop`, `received_full`, … */
  receive(message: ReceiveArgs): Promise<ReceiveResult>
  /** Stores a report about a domain and returns its id; see `DomainReports.take`. */
  report(message: ReportMessage, domain: ReportReceivingDomain): Promise<string>
  /** Stops forwarding and reading. */
  close(): Promise<void>
}

export interface MailReceiverDeps {
  storage: Pick<
    Storage,
    | 'secret'
    | 'findReturnPath'
    | 'domainsServedAs'
    | 'findReceivers'
    | 'findReportedDomains'
    | 'keepDomainReport'
    | 'keepReceivedEmails'
    | 'getReceivedEmail'
    | 'getReceivedSource'
    | 'nextForward'
    | 'settleForward'
    | 'getEmail'
    | 'keepReturned'
    | 'beginReturned'
    | 'nextReturned'
    | 'postponeReturned'
    | 'settleReturned'
    | 'keepPostmaster'
    | 'duePostmaster'
    | 'settlePostmaster'
  >
  sendNotice: SendNotice
  /** Accepts forwarded email for sending. */
  intake: ReceivedForwarderDeps['intake']
  mime: ReceiveDeps['mime']
  resolver: ReceiveDeps['resolver']
  /** Default: none. */
  spamFilter?: ReceiveDeps['spamFilter']
  milters?: ReceiveDeps['milters']
  clock: Clock
  log: Logger
  /** Default: this is the only process. */
  duties?: Duties | undefined
  hostname: string
  /** Returns the tables for reading returned messages; called for each message. */
  tables: () => ReturnedMailTables
  /** Size limit for messages of authenticated clients, in bytes; received messages are never larger. */
  messageBytes: number
  /** Where mail to postmaster is forwarded; undefined to only store it. */
  postmaster: string | undefined
  /** How often to look for mail to forward, in milliseconds. */
  pollMs?: number
}

/**
 * Google and Microsoft deliver up to 25 MB of attachments, and base64 adds a third. A forwarded message is encoded in
 * base64 again.
 */
const RECEIVED_BYTES = 28 * 1024 * 1024
/** Reports usually return 50 to 100 KB of a message; some servers return all of it. */
const MESSAGE_BYTES = 1024 * 1024
/** Size limit for reports, in bytes: enough for a 10 MB compressed report in base64. */
const REPORT_BYTES = 14 * 1024 * 1024
const RETURNED: ReturnedMailLimits = {
  emailMessages: 10,
  emailBytes: 2 * MESSAGE_BYTES,
  teamBytes: 64 * MESSAGE_BYTES,
  allBytes: 512 * MESSAGE_BYTES,
}
const POSTMASTER: PostmasterLimits = { messages: 500, bytes: 32 * MESSAGE_BYTES }

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/**
 * A large provider may return thousands of messages after a broadcast to an old list. Its queue delivers the rest
 * later.
 */
const RETURNED_RATE = { windowMs: 10 * MINUTE, perNetwork: 300, inAll: 3000 }
const POSTMASTER_RATE = { windowMs: 60 * MINUTE, perNetwork: 10, inAll: 60 }

const REPORT_RATE = { windowMs: 10 * MINUTE, perNetwork: 60, inAll: 600 }
const RECEIVED_RATE = { windowMs: 10 * MINUTE, perNetwork: 600, inAll: 6000 }

/** A message with more Received fields than this is in a loop (RFC 5321 §6.3). */
const MAX_RECEIVED = 50
/**
 * The same limit for Received fields of this server. A legitimate reply has two: one from submission, one from receipt.
 */
const MAX_OWN_RECEIVED = 3
/** Bytes of the header in which Received fields are counted. */
const HEADER = 128 * 1024

const createRates = (clock: Clock) => ({
  received: createNetworkRateLimiter(clock, RECEIVED_RATE),
  returned: createNetworkRateLimiter(clock, RETURNED_RATE),
  reports: createNetworkRateLimiter(clock, REPORT_RATE),
  postmaster: createNetworkRateLimiter(clock, POSTMASTER_RATE),
  events: createThrottle(clock, RECEIVED_LIMITS.messages, DAY),
})

const sizesWithin = (most: number): Pick<MailReceiver, 'receivedBytes' | 'limitOf'> => ({
  receivedBytes: Math.min(most, RECEIVED_BYTES),
  limitOf({ receiver, reported }) {
    if (receiver) return Math.min(most, RECEIVED_BYTES)
    return Math.min(most, reported ? REPORT_BYTES : MESSAGE_BYTES)
  },
})

/** Creates the receiver, which starts to forward and read stored mail at once. */
export function createMailReceiver(deps: MailReceiverDeps): MailReceiver {
  const { clock, log, storage, postmaster } = deps
  const rates = createRates(clock)
  const returnPaths = createReturnPaths(deps)
  const forwarder = createForwarder(deps)
  const sender = createReceivedForwarder(deps)
  const drain = createReturnedMailWorker(deps)
  const workers = [forwarder, sender, drain]
  for (const worker of workers) worker.start()
  const reports = createDomainReports(deps)

  return {
    ...sizesWithin(deps.messageBytes),
    async addressee(mailbox) {
      try {
        return await findAddressee(deps, returnPaths, mailbox)
      } catch (error) {
        if (error instanceof Refusal) throw error
        // The recipient may exist, so neither accept it nor refuse it permanently.
        log.error({ err: error }, 'could not look up a recipient on port 25')
        throw refuse('unavailable')
      }
    },

    admit({ emailId, receiver, reported }, { mailFrom, ip }) {
      // RFC 5321 §4.5.5: reports have the null sender. RCPT alone is answered for every sender, because servers also
      // verify addresses with their own postmaster as the sender.
      if (emailId !== null && mailFrom !== '') throw refuse('inbound_sender')
      const other = emailId === null ? 'postmaster' : 'returned'
      const kind = receiver ? 'received' : reported ? 'reports' : other
      const seconds = rates[kind].take(ip)
      if (seconds > 0) throw refuse('inbound_rate', { seconds })
    },

    async keep({ emailId, proven, address }, arrival, bytes) {
      if (isLoop(bytes, deps.hostname)) throw refuse('message_loop')
      const now = clock.now()
      const about = { ...arrival, id: newId(now), receivedAt: now, rcptTo: address, size: bytes.byteLength }
      // Copied, because transferring a view to the storage thread would send the whole underlying buffer.
      const message = { ...about, bytes: new Uint8Array(bytes) }
      const line = { message_id: about.id, rcpt_to: address, ip: arrival.ip, size: about.size }
      if (emailId === null) {
        const forward = postmaster === undefined ? 'off' : 'due'
        await storage.keepPostmaster({ message, forward, limits: POSTMASTER }, now)
        log.info(line, 'received a message to postmaster')
        forwarder.wake()
        return about.id
      }
      const kept = await storage.keepReturned({ emailId, message, limits: RETURNED, proven }, now)
      if (kept === 'full') throw refuse('inbound_full')
      if (kept === 'unknown') throw refuse('inbound_unknown')
      log.info({ ...line, email_id: emailId }, 'received a returned message')
      if (proven) drain.wake()
      return about.id
    },

    async receive(message) {
      if (isLoop(message.bytes, deps.hostname)) throw refuse('message_loop')
      const received = await receiveByRules(message, { ...deps, events: rates.events })
      sender.wake()
      return received
    },

    report: (message, domain) => reports.take(message, domain),

    async close() {
      await Promise.all([...workers.map((worker) => worker.stop()), reports.close()])
    },
  }
}

/** Stores a message unless a rule discards it. Always resolves to an id, so that senders can't detect rules. */
async function receiveByRules(message: ReceiveArgs, deps: ReceiveDeps): Promise<ReceiveResult> {
  const recipients = message.recipients.filter(({ rule }) => rule?.action !== 'drop')
  if (recipients.length > 0) return receiveMessage({ ...message, recipients }, deps)
  const id = newId(deps.clock.now())
  deps.log.info({ received_id: id, ip: message.ip, size: message.bytes.length }, 'discarded an email by rule')
  return { id, wanted: false }
}

async function findAddressee(
  { storage, clock, hostname }: MailReceiverDeps,
  returnPaths: ReturnPaths,
  { local, domain, address }: Mailbox,
): Promise<ResolvedRecipient> {
  const nobody = { emailId: null, proven: false, address, receiver: null, reported: null }
  const bounce = parseReturnPath(address)
  // A wrong MAC needs no lookup. Return paths without a MAC, from older versions, may still be in use.
  if (bounce && (bounce.proof === null || (await returnPaths.isOurs(bounce)))) {
    const found = await storage.findReturnPath({ emailId: bounce.emailId }, clock.now())
    if (found?.returnPath.toLowerCase() === address.toLowerCase())
      return { ...nobody, emailId: bounce.emailId, proven: bounce.proof !== null }
  }
  if (isReportLocal(local)) {
    const domains = await storage.findReportedDomains({ host: domain }, clock.now())
    const named = domains.find((one) => buildReportAddress(one).toLowerCase() === address.toLowerCase())
    if (named && maySend(named.status)) return { ...nobody, reported: named }
    if (domains.length > 0) throw refuse('report_unknown')
  }
  const [receiver] = bounce
    ? []
    : (await storage.findReceivers({ name: domain }, clock.now())).filter(({ status }) => maySend(status))
  if (receiver) {
    const rule = findRule(receiver.rules, local)
    if (rule.action === 'refuse') throw refuse('received_unknown')
    return { ...nobody, receiver, rule }
  }
  const forPostmaster = /^(postmaster|abuse)$/i.test(local)
  if (!bounce && !forPostmaster) throw refuse('smtp_relay')
  const own = domain === hostname.toLowerCase()
  const statuses = own ? [] : await storage.domainsServedAs({ name: domain }, clock.now())
  if (!own && !statuses.some(maySend)) throw refuse('smtp_relay')
  if (forPostmaster) return nobody
  throw refuse('inbound_unknown')
}

/** Reports whether a message is in a loop: it has too many Received fields, in total or of this server. */
function isLoop(bytes: Uint8Array, hostname: string): boolean {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEADER))
  const end = start.indexOf('\r\n\r\n')
  const header = start.toString('latin1', 0, end < 0 ? start.length : end)
  const traces = header.match(/^received[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*/gim) ?? []
  const by = new RegExp(`\\sby\\s+${hostname.replaceAll('.', '\\.')}\\s`, 'i')
  return traces.length > MAX_RECEIVED || traces.filter((trace) => by.test(trace)).length > MAX_OWN_RECEIVED
}
