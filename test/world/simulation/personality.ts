import type { TlsMode } from '../tls.ts'

/** What a mail exchanger of the simulation is like: data, and rules that see one moment of a conversation. */

/** `hello` is EHLO or HELO; `body`: the first octets of the message are there; `message`: the final dot is. */
export type At = 'connect' | 'hello' | 'starttls' | 'mail' | 'rcpt' | 'data' | 'body' | 'message' | 'rset'

/** One moment at which a receiver may do something else than accept. */
export interface Moment {
  at: At
  /** Unix milliseconds of the simulation. */
  now: number
  /** Where the client dials from. */
  ip: string
  /** The line that was said; empty at `connect`, `body` and `message`. */
  line: string
  /** The forward-path at `rcpt`, lower case; else empty. */
  recipient: string
  /** Those accepted so far in this transaction. */
  recipients: readonly string[]
  /** Connections that this source has open to this personality now, this one included. */
  abreast: number
  /** Of this connection. MAIL commands so far, the present one included. */
  transactions: number
  encrypted: boolean
  /** Whether the message at `message` has a DKIM-Signature. */
  signed: boolean
}

/**
 * What a receiver does. `say` has lines parted by LF; `{ip}` and `{recipient}` are put in. `raw` is sent as it is. Without either it
 * accepts, after the wait. Then it may end the connection.
 */
export interface Act {
  /** Milliseconds of the simulation to wait first. */
  after?: number
  say?: string
  raw?: string
  /** `silence`: it listens no more, and keeps the connection open. */
  then?: 'close' | 'reset' | 'silence'
}

/** The first rule that acts decides; undefined leaves it to the next one, and to acceptance. */
export type Rule = (moment: Moment) => Act | undefined

/** What becomes of a delivery in the end. */
export type End = 'delivered' | 'bounced' | 'expired'

/** A mailbox as its address tells: `…-ok@`, `…-unknown@`, `…-full@`. */
export type Mailbox = 'ok' | 'unknown' | 'full'

/** What DNS says of the domain, where that is not simply its exchangers. */
export type Dns = 'implicit' | 'null-mx' | 'servfail-first' | 'absent'

export interface Personality {
  name: string
  /** One sentence for the table in docs/deliverability.md. */
  says: string
  /** Weight in the mix of recipients. */
  share: number
  /** Recipient domains; default 1. */
  domains?: number
  /** Host names by preference. `*` stands for the domain with hyphens. At a name after `dead:` nobody listens. */
  mx: string[]
  /** Default none: STARTTLS is not offered. */
  tls?: TlsMode | 'refused' | 'garbage' | 'small-hello'
  /** What EHLO lists besides; default PIPELINING, 8BITMIME, SIZE 35882577, ENHANCEDSTATUSCODES. Null: EHLO is not known. */
  extensions?: readonly string[] | null
  /** Default `220 NAME ESMTP`. */
  greeting?: Act
  dns?: Dns
  /** Answers to RCPT for mailboxes that are not ok. */
  unknown?: string
  full?: string
  /** Of the mailboxes, per hundred; the rest is ok. Default 3 and 1. */
  mix?: { unknown: number; full: number }
  /** Takes mail at the first try, so that nothing but the sender's own shaping may delay it. */
  healthy?: true
  /** What mail to a good mailbox must come to; undefined where two ends are right. Default delivered. */
  end?: End | null
  /** Made anew for each run: rules remember. */
  rules?: () => Rule[]
}

/** The recipient domains of a personality. They are not real, its exchangers' names are: providers are told by those. */
export function domainsOf({ name, domains = 1 }: Personality): string[] {
  return Array.from({ length: domains }, (_, at) => (at === 0 ? `${name}.test` : `${name}-${at + 1}.test`))
}

/** The kind of a mailbox, from its address. */
export function mailboxOf(recipient: string): Mailbox {
  const kind = /-(unknown|full)@/.exec(recipient)?.[1]
  return (kind as Mailbox | undefined) ?? 'ok'
}
