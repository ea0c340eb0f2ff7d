import type { Act, At, Moment, Rule } from './personality.ts'

/** Rules that make up personalities. Each call creates a rule with its own state. */

const MINUTE = 60_000
const DAY = 1440 * MINUTE

/** Reacts at one step: always, or only the first `times` times. */
export function at(moment: At, act: Act | string, { times = Infinity } = {}): Rule {
  let left = times
  const what = typeof act === 'string' ? { say: act } : act
  return (seen) => (seen.at === moment && left-- > 0 ? what : undefined)
}

/** Reacts at one step, once for each key. */
export function oncePer(moment: At, key: (seen: Moment) => string, act: Act): Rule {
  const met = new Set<string>()
  return (seen) => {
    if (seen.at !== moment || met.has(key(seen))) return undefined
    met.add(key(seen))
    return act
  }
}

/** Applies a rule to a fixed share of recipients, chosen by address, so that the order of arrival doesn't matter. */
export function share(percent: number, rule: Rule): Rule {
  return (seen) => {
    const one = seen.recipient || seen.recipients[0]
    return one !== undefined && hash(one) % 100 < percent ? rule(seen) : undefined
  }
}

/** Replies with `reply` to connections of one source beyond `most`, and closes them. */
export function mostConnections(most: number, reply: string): Rule {
  return ({ at: when, abreast }) =>
    when === 'connect' && abreast > most ? { say: reply, then: 'close' } : undefined
}

/** After `most` transactions on a connection, replies to the next MAIL with `reply` and closes the connection. */
export function mostTransactions(most: number, reply: string): Rule {
  return ({ at: when, transactions }) =>
    when === 'mail' && transactions > most ? { say: reply, then: 'close' } : undefined
}

export interface RateOptions {
  /** Transactions per minute that a source may start on its first day. */
  perMinute: number
  /** Growth factor per day since the source was first seen. Default 1: no growth. */
  growth?: number
  /** How long a source over its limit is refused, in milliseconds. By default, until the minute is over. */
  penalty?: number
  reply: string
  /** Default `close`: after a 421, the server closes the connection (RFC 5321 §3.8). */
  then?: 'close'
}

/** Refuses MAIL from a source that starts more transactions per minute than allowed. */
export function rate({ perMinute, growth = 1, penalty = 0, reply, then }: RateOptions): Rule {
  const sources = new Map<string, { first: number; minute: number; count: number; until: number }>()
  return ({ at: when, now, ip }) => {
    if (when !== 'mail') return undefined
    let source = sources.get(ip)
    if (!source) sources.set(ip, (source = { first: now, minute: now, count: 0, until: 0 }))
    if (now - source.minute >= MINUTE) Object.assign(source, { minute: now, count: 0 })
    const most = perMinute * growth ** Math.floor((now - source.first) / DAY)
    source.count++
    if (source.count > most && now >= source.until)
      source.until = Math.max(source.minute + MINUTE, now + penalty)
    return now < source.until ? { say: reply, ...(then ? { then } : {}) } : undefined
  }
}

export interface GreyOptions {
  /** What is remembered. Default: the recipient, from any source. */
  key?: 'recipient' | 'source' | 'network-and-recipient'
  /** Minimum time before a retry is accepted, in milliseconds. */
  wait: number
  reply: string
  /** The step at which it replies. Default RCPT. */
  when?: At
}

/** Greylisting (RFC 6647): defers unknown senders until they retry after a while. */
export function greylist({ key = 'recipient', wait, reply, when = 'rcpt' }: GreyOptions): Rule {
  const first = new Map<string, number>()
  return (seen) => {
    if (seen.at !== when) return undefined
    const who = seen.recipient || seen.recipients.join()
    const network = seen.ip.replace(/\.\d+$/, '')
    const known = { recipient: who, source: seen.ip, 'network-and-recipient': `${network} ${who}` }[key]
    const since = first.get(known)
    if (since === undefined) first.set(known, seen.now)
    return since === undefined || seen.now - since < wait ? { say: reply } : undefined
  }
}

/** Delays its replies at these steps by the simulation's clock, then accepts. */
export function slow(ms: number, ...moments: At[]): Rule {
  return (seen) => (moments.includes(seen.at) ? { after: ms } : undefined)
}

/** Requires TLS (RFC 3207 §4). */
export const tlsOnly: Rule = (seen) =>
  seen.at === 'mail' && !seen.encrypted ? { say: '530 5.7.0 Must issue a STARTTLS command first' } : undefined

/** Rejects messages without a DKIM signature. */
export function signedOnly(reply: string): Rule {
  return (seen) => (seen.at === 'message' && !seen.signed ? { say: reply } : undefined)
}

/** Hashes a string with FNV-1a. Choices then depend on the address instead of the order of arrival. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
