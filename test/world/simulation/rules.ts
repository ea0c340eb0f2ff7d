import type { Act, At, Moment, Rule } from './personality.ts'

/** Rules that personalities are put together from. Each call makes one with a memory of its own. */

const MINUTE = 60_000
const DAY = 1440 * MINUTE

/** Acts at one moment: each time, or for the first `times` times only. */
export function at(moment: At, act: Act | string, { times = Infinity } = {}): Rule {
  let left = times
  const what = typeof act === 'string' ? { say: act } : act
  return (seen) => (seen.at === moment && left-- > 0 ? what : undefined)
}

/** Acts at one moment once for each key that it meets. */
export function oncePer(moment: At, key: (seen: Moment) => string, act: Act): Rule {
  const met = new Set<string>()
  return (seen) => {
    if (seen.at !== moment || met.has(key(seen))) return undefined
    met.add(key(seen))
    return act
  }
}

/** Acts on a fixed share of what it meets, told by the envelope; always the same recipients, whatever the order. */
export function share(percent: number, rule: Rule): Rule {
  return (seen) => {
    const one = seen.recipient || seen.recipients[0]
    return one !== undefined && hash(one) % 100 < percent ? rule(seen) : undefined
  }
}

/** More connections from one source than this are answered with `reply` and closed. */
export function mostConnections(most: number, reply: string): Rule {
  return ({ at: when, abreast }) =>
    when === 'connect' && abreast > most ? { say: reply, then: 'close' } : undefined
}

/** After this many transactions of a connection the next MAIL is answered with `reply`, and the connection closed. */
export function mostTransactions(most: number, reply: string): Rule {
  return ({ at: when, transactions }) =>
    when === 'mail' && transactions > most ? { say: reply, then: 'close' } : undefined
}

export interface RateOptions {
  /** Transactions a minute that a source may begin on its first day. */
  perMinute: number
  /** Times as much each day that the source is known. Default 1: it never grows. */
  growth?: number
  /** How long a source is refused once it went over, in milliseconds. Default until the minute is over. */
  penalty?: number
  reply: string
  /** Default `close`: after a 421 the server goes away (RFC 5321 §3.8). */
  then?: 'close'
}

/** A source that begins more transactions in a minute than it may is refused at MAIL. */
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
  /** What must come back. Default the recipient, from anywhere. */
  key?: 'recipient' | 'source' | 'network-and-recipient'
  /** Milliseconds before which coming back is too early. */
  wait: number
  reply: string
  /** When it says so. Default at RCPT. */
  when?: At
}

/** Greylisting (RFC 6647): what is not known is to come back after a while. */
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

/** Waits on the simulation's clock before it answers these moments, and then accepts. */
export function slow(ms: number, ...moments: At[]): Rule {
  return (seen) => (moments.includes(seen.at) ? { after: ms } : undefined)
}

/** Refuses to talk in plain text (RFC 3207 §4). */
export const tlsOnly: Rule = (seen) =>
  seen.at === 'mail' && !seen.encrypted ? { say: '530 5.7.0 Must issue a STARTTLS command first' } : undefined

/** Refuses what carries no DKIM signature. */
export function signedOnly(reply: string): Rule {
  return (seen) => (seen.at === 'message' && !seen.signed ? { say: reply } : undefined)
}

/** FNV-1a, to choose by an address and not by the order of arrival. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
