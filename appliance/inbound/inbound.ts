/**
 * Mail that port 25 takes without sign-in: to domains that receive (receive.ts), to the return path of an email that was sent from here (RFC 5321 §3.6.3), to the
 * address for reports about a domain (domain-reports.ts), and to
 * postmaster and abuse (RFC 5321 §4.5.1, RFC 2142). Only what proves that it has seen an email, by the MAC of its return path, is read and can
 * change the state of that email. No report is ever sent about it: what cannot be taken is refused while the client waits.
 */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
import type { Mailbox } from '../mail/address.ts'
import { newId } from '../mail/ids.ts'
import { ruleFor, type ReceivingRule } from '../mail/receiving-rules.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import { isReportLocal, reportAddress } from '../mail/report-address.ts'
import { parseReturnPath } from '../mail/return-path.ts'
import { createReturnPaths, maySend, type ReturnPaths } from '../senders/senders.ts'
import type {
  PostmasterLimits,
  ReceivedMessage,
  Receiver,
  ReportedDomain,
  ReturnedLimits,
  Storage,
} from '../storage/storage.ts'
import type { Duties } from '../watch/duties.ts'
import type { Logger } from '../watch/log.ts'
import { createDomainReports, type ReportMessage } from './domain-reports.ts'
import { createDrain } from './drain.ts'
import { createForwarder } from './forward.ts'
import { createReceivedForwarder, type ReceivedForwarderDeps } from './forward-received.ts'
import type { ReturnedTables } from './reading/returned-reader.ts'
import { createRate } from './rates.ts'
import { RECEIVED_LIMITS, receive, type ReceiveArgs, type ReceiveDeps } from './receive.ts'
import type { SendNotice } from '../intake/notice.ts'

/** Who a recipient is. */
export interface Addressee {
  /** The email whose return path it is; null for postmaster and abuse. */
  emailId: string | null
  /** Whether the return path has a valid MAC. */
  proven: boolean
  /** As it was written. */
  address: string
  /** The domain that receives it as mail of its team; null for the others. */
  receiver: Receiver | null
  /** The domain that it takes reports about; null for the others. */
  reported: ReportedDomain | null
  /** The rule of the domain that decides; only with `receiver`. */
  rule?: ReceivingRule
}

/** A message as it comes in, beside its bytes. */
export type Arrival = Pick<ReceivedMessage, 'mailFrom' | 'ip' | 'helo' | 'tls'>

export interface Inbound {
  /** Largest message of all, in bytes. */
  readonly receivedBytes: number
  /** Largest message to this recipient, in bytes. */
  limitOf(addressee: Addressee): number
  /** Who is meant. Refuses: `smtp_relay`, `inbound_unknown`, `received_unknown`, `unavailable`. */
  addressee(mailbox: Mailbox): Promise<Addressee>
  /** Whether a message may follow; counts it. Refuses: `inbound_sender`, `inbound_rate`. */
  admit(addressee: Addressee, arrival: Pick<Arrival, 'mailFrom' | 'ip'>): void
  /** Stores a message; once it resolves to the id, the message is durable. Refuses: `message_loop`, `inbound_full`, `disk_full`, `unavailable`, … */
  keep(addressee: Addressee, arrival: Arrival, bytes: Uint8Array): Promise<string>
  /** Stores a message for domains that receive, as `keep` does. Refuses: `message_loop`, `received_full`, … */
  receive(message: ReceiveArgs): Promise<string>
  /** Stores a report about a domain, as `DomainReports.take` does; its id. */
  report(message: ReportMessage, domain: ReportedDomain): Promise<string>
  /** Ends forwarding and reading. */
  close(): Promise<void>
}

export interface InboundDeps {
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
  /** Takes email that is forwarded. */
  intake: ReceivedForwarderDeps['intake']
  mime: ReceiveDeps['mime']
  resolver: ReceiveDeps['resolver']
  clock: Clock
  log: Logger
  /** By default this process is alone. */
  duties?: Duties | undefined
  hostname: string
  /** By which returned messages are read; asked each time. */
  tables: () => ReturnedTables
  /** Largest message of those who sign in, in bytes: this one is never larger. */
  messageBytes: number
  /** Where mail to postmaster is forwarded; undefined: it is only kept. */
  postmaster: string | undefined
  /** How often to look for what is to be forwarded, in milliseconds. */
  pollMs?: number
}

/** Google and Microsoft deliver up to 25 MB of attachments, which base64 makes a third larger; a forwarded message is base64 once more. */
const RECEIVED_BYTES = 28 * 1024 * 1024
/** Reports bring back 50 to 100 KB of a message as a rule; some servers return all of it. */
const MESSAGE_BYTES = 1024 * 1024
/** 10 MB of a packed report in base64. */
const REPORT_BYTES = 14 * 1024 * 1024
const RETURNED: ReturnedLimits = {
  emailMessages: 10,
  emailBytes: 2 * MESSAGE_BYTES,
  teamBytes: 64 * MESSAGE_BYTES,
  allBytes: 512 * MESSAGE_BYTES,
}
const POSTMASTER: PostmasterLimits = { messages: 500, bytes: 32 * MESSAGE_BYTES }

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** A large provider may return thousands of messages after a broadcast to an old list; what waits there comes later. */
const RETURNED_RATE = { windowMs: 10 * MINUTE, perNetwork: 300, inAll: 3000 }
const POSTMASTER_RATE = { windowMs: 60 * MINUTE, perNetwork: 10, inAll: 60 }

const REPORT_RATE = { windowMs: 10 * MINUTE, perNetwork: 60, inAll: 600 }
const RECEIVED_RATE = { windowMs: 10 * MINUTE, perNetwork: 600, inAll: 6000 }

/** A message that went through more servers than this is in a loop (RFC 5321 §6.3). */
const MAX_RECEIVED = 50
/** The same for this one. A reply passes here twice: as it is submitted, and as it is received. */
const MAX_OWN_RECEIVED = 3
/** Bytes of a header in which trace fields are counted. */
const HEADER = 128 * 1024

const createRates = (clock: Clock) => ({
  received: createRate(clock, RECEIVED_RATE),
  returned: createRate(clock, RETURNED_RATE),
  reports: createRate(clock, REPORT_RATE),
  postmaster: createRate(clock, POSTMASTER_RATE),
  events: createThrottle(clock, RECEIVED_LIMITS.messages, DAY),
})

const sizesWithin = (most: number): Pick<Inbound, 'receivedBytes' | 'limitOf'> => ({
  receivedBytes: Math.min(most, RECEIVED_BYTES),
  limitOf({ receiver, reported }) {
    if (receiver) return Math.min(most, RECEIVED_BYTES)
    return Math.min(most, reported ? REPORT_BYTES : MESSAGE_BYTES)
  },
})

/** Forwards and reads from then on what waits for it. */
export function createInbound(deps: InboundDeps): Inbound {
  const { clock, log, storage, postmaster } = deps
  const rates = createRates(clock)
  const returnPaths = createReturnPaths(deps)
  const forwarder = createForwarder(deps)
  const sender = createReceivedForwarder(deps)
  const drain = createDrain(deps)
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
        // Whoever cannot be looked up may exist: neither yes nor a final no.
        log.error({ err: error }, 'could not look up a recipient on port 25')
        throw refuse('unavailable')
      }
    },

    admit({ emailId, receiver, reported }, { mailFrom, ip }) {
      // RFC 5321 §4.5.5: reports have the null sender. RCPT alone is answered for every sender, as servers verify addresses in the name
      // of their own postmaster, too.
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
      // A copy: what crosses to the storage would bring along the whole buffer behind a view.
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
      const id = await receiveByRules(message, { ...deps, events: rates.events })
      sender.wake()
      return id
    },

    report: (message, domain) => reports.take(message, domain),

    async close() {
      await Promise.all([...workers.map((worker) => worker.stop()), reports.close()])
    },
  }
}

/** Receives what no rule discards. Resolves to an id in any case: a sender is not told. */
async function receiveByRules(message: ReceiveArgs, deps: ReceiveDeps): Promise<string> {
  const recipients = message.recipients.filter(({ rule }) => rule?.action !== 'drop')
  if (recipients.length > 0) return receive({ ...message, recipients }, deps)
  const id = newId(deps.clock.now())
  deps.log.info({ received_id: id, ip: message.ip, size: message.bytes.length }, 'discarded an email by rule')
  return id
}

async function findAddressee(
  { storage, clock, hostname }: InboundDeps,
  returnPaths: ReturnPaths,
  { local, domain, address }: Mailbox,
): Promise<Addressee> {
  const nobody = { emailId: null, proven: false, address, receiver: null, reported: null }
  const bounce = parseReturnPath(address)
  // A wrong MAC costs no look-up. Return paths from before there was one are still in the mail of others.
  if (bounce && (bounce.proof === null || (await returnPaths.isOurs(bounce)))) {
    const found = await storage.findReturnPath({ emailId: bounce.emailId }, clock.now())
    if (found?.returnPath.toLowerCase() === address.toLowerCase())
      return { ...nobody, emailId: bounce.emailId, proven: bounce.proof !== null }
  }
  if (isReportLocal(local)) {
    const domains = await storage.findReportedDomains({ host: domain }, clock.now())
    const named = domains.find((one) => reportAddress(one).toLowerCase() === address.toLowerCase())
    if (named && maySend(named.status)) return { ...nobody, reported: named }
    if (domains.length > 0) throw refuse('report_unknown')
  }
  const [receiver] = bounce
    ? []
    : (await storage.findReceivers({ name: domain }, clock.now())).filter(({ status }) => maySend(status))
  if (receiver) {
    const rule = ruleFor(receiver.rules, local)
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

/** Whether a message goes round in a circle: too many Received fields, or too many of this server. */
function isLoop(bytes: Uint8Array, hostname: string): boolean {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEADER))
  const end = start.indexOf('\r\n\r\n')
  const header = start.toString('latin1', 0, end < 0 ? start.length : end)
  const traces = header.match(/^received[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*/gim) ?? []
  const by = new RegExp(`\\sby\\s+${hostname.replaceAll('.', '\\.')}\\s`, 'i')
  return traces.length > MAX_RECEIVED || traces.filter((trace) => by.test(trace)).length > MAX_OWN_RECEIVED
}
