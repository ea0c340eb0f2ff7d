/** The mail servers of a receiver in a simulation. They count messages, and refuse those that exceed their limits. */
import type { Receiver, ReceiverLimit, ReceiverLimitName } from '../mail/receiver.ts'
import { parseMailboxState } from './recipients.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** A limit that a sending IP exceeded. */
export interface Breach {
  limit: ReceiverLimitName
  most: number
  seen: number
  source: string
}

/** A connection to a receiver. */
export interface OpenConnection {
  ip: string
  messages: number
}

/** A refusal. `ends`: the server closes the connection. */
export interface ServerRefusal {
  reply: string
  ends: boolean
}

/** A server's data about a sending IP. */
interface Sender {
  /** When the IP was first seen. */
  since: number
  open: number
  /** Start times of recent messages. Those older than a minute are dropped. */
  recent: number[]
  /** Index of the first time in `recent` that still counts. */
  first: number
  refusedUntil: number
}

/** The highest numbers of any single IP. */
export interface Peaks {
  connections: number
  messagesPerConnection: number
  messagesPerMinute: number
}

export class Server {
  readonly receiver: Receiver
  readonly peaks: Peaks = { connections: 0, messagesPerConnection: 0, messagesPerMinute: 0 }
  readonly #senders = new Map<string, Sender>()
  readonly #greeted = new Map<string, number>()
  readonly #breaches = new Map<ReceiverLimitName, Breach>()
  readonly #knownSince: (ip: string) => number | null

  /** @param knownSince returns when an IP in warm-up began to send; null for an IP that receivers already know */
  constructor(receiver: Receiver, knownSince: (ip: string) => number | null) {
    this.receiver = receiver
    this.#knownSince = knownSince
  }

  /** The published limits that were exceeded, each with the highest number seen. */
  get breaches(): Breach[] {
    return [...this.#breaches.values()]
  }

  /** Accepts a connection, or refuses it. */
  connect(ip: string, now: number): OpenConnection | ServerRefusal {
    const sender = this.#sender(ip, now)
    const { connections, unknownIp } = this.receiver
    const isNew = this.#knownSince(ip) !== null
    if (unknownIp && isNew && now - sender.since < unknownIp.minutes * MINUTE)
      return { reply: unknownIp.reply, ends: true }
    const seen = sender.open + 1
    this.peaks.connections = Math.max(this.peaks.connections, seen)
    if (connections && seen > connections.most) {
      this.#note('connections', connections, seen)
      return { reply: connections.reply, ends: true }
    }
    sender.open = seen
    return { ip, messages: 0 }
  }

  close({ ip }: OpenConnection): void {
    const sender = this.#senders.get(ip)
    if (sender) sender.open -= 1
  }

  /** Handles MAIL. Returns undefined if it is accepted. */
  mail(opened: OpenConnection, now: number): ServerRefusal | undefined {
    const { messagesPerConnection: most, messagesPerMinute: rate } = this.receiver
    opened.messages += 1
    this.peaks.messagesPerConnection = Math.max(this.peaks.messagesPerConnection, opened.messages)
    const sender = this.#sender(opened.ip, now)
    const seen = countMinute(sender, now)
    this.peaks.messagesPerMinute = Math.max(this.peaks.messagesPerMinute, seen)
    if (most && opened.messages > most.most) {
      this.#note('messages_per_connection', most, opened.messages)
      return { reply: most.reply, ends: true }
    }
    if (!rate) return undefined
    // A known IP violates the limit if it exceeds the published rate. A new IP has to earn that rate first.
    const since = this.#knownSince(opened.ip)
    const days = since === null ? Infinity : Math.max(0, Math.floor((now - since) / DAY))
    const grown = rate.newIp === null || days === Infinity ? rate.most : rate.newIp * rate.growth ** days
    if (seen > rate.most) this.#note('messages_per_minute', rate, seen)
    if (seen > Math.min(rate.most, grown) && now >= sender.refusedUntil)
      sender.refusedUntil = now + rate.penaltyMinutes * MINUTE
    return now < sender.refusedUntil ? { reply: rate.reply, ends: rate.reply.startsWith('421') } : undefined
  }

  /**
   * Handles RCPT. Returns undefined if the recipient is accepted.
   * @param accepted number of recipients that were already accepted for the message
   */
  rcpt(address: string, accepted: number, now: number): string | undefined {
    const { recipientsPerMessage: most, greylist, unknown, full } = this.receiver
    if (most && accepted + 1 > most.most) {
      this.#note('recipients_per_message', most, accepted + 1)
      return most.reply
    }
    if (greylist && !this.#isGreeted(address, greylist.minutes * MINUTE, now)) return greylist.reply
    const mailbox = parseMailboxState(address)
    if (mailbox === 'ok') return undefined
    return mailbox === 'full' ? full : unknown
  }

  #isGreeted(address: string, wait: number, now: number): boolean {
    const since = this.#greeted.get(address)
    if (since === undefined) this.#greeted.set(address, now)
    return since !== undefined && now - since >= wait
  }

  #sender(ip: string, now: number): Sender {
    let sender = this.#senders.get(ip)
    if (!sender) {
      sender = { since: now, open: 0, recent: [], first: 0, refusedUntil: 0 }
      this.#senders.set(ip, sender)
    }
    return sender
  }

  #note(limit: ReceiverLimitName, { most, source }: ReceiverLimit, seen: number): void {
    if (source === null) return
    const before = this.#breaches.get(limit)?.seen ?? 0
    if (seen > before) this.#breaches.set(limit, { limit, most, seen, source })
  }
}

/** Counts a message. Returns the number of messages that began in the 60 seconds up to now. */
function countMinute(sender: Sender, now: number): number {
  const { recent } = sender
  recent.push(now)
  while (now - recent[sender.first]! >= MINUTE) sender.first += 1
  if (sender.first > 10_000) {
    recent.splice(0, sender.first)
    sender.first = 0
  }
  return recent.length - sender.first
}
