import type { TlsMode } from '../tls.ts'

/** Describes a mail exchanger of the simulation: data, and rules that react to steps of a conversation. */

/** `hello`: EHLO or HELO. `body`: the first octets of the message have arrived. `message`: the final dot has. */
export type At = 'connect' | 'hello' | 'starttls' | 'mail' | 'rcpt' | 'data' | 'body' | 'message' | 'rset'

/** A point in the conversation at which a receiver may react. */
export interface Moment {
  at: At
  /** Unix milliseconds of the simulation. */
  now: number
  /** The client's IP address. */
  ip: string
  /** The command line; empty at `connect`, `body` and `message`. */
  line: string
  /** The forward-path at `rcpt`, in lower case; otherwise empty. */
  recipient: string
  /** Recipients accepted so far in this transaction. */
  recipients: readonly string[]
  /** Connections that this source has open to this personality, including this one. */
  abreast: number
  /** MAIL commands on this connection so far, including this one. */
  transactions: number
  encrypted: boolean
  /** At `message`: whether the message has a DKIM-Signature. */
  signed: boolean
}

/**
 * A receiver's reaction. `say` has lines separated by LF, with `{ip}` and `{recipient}` substituted. `raw` is sent as
 * is. Without either, the receiver accepts after the wait. It may then end the connection.
 */
export interface Act {
  /** How long to wait first, in milliseconds of the simulation. */
  after?: number
  say?: string
  raw?: string
  /** `silence`: stops reading, but keeps the connection open. */
  then?: 'close' | 'reset' | 'silence'
}

/** Decides how to react. The first rule that acts wins. If all return undefined, the receiver accepts. */
export type Rule = (moment: Moment) => Act | undefined

/** The final state of a delivery. */
export type End = 'delivered' | 'bounced' | 'expired'

/** The kind of mailbox, encoded in its address: `…-ok@`, `…-unknown@`, `…-full@`. */
export type Mailbox = 'ok' | 'unknown' | 'full'

/** How the domain's DNS differs from a plain MX record. */
export type Dns = 'implicit' | 'null-mx' | 'servfail-first' | 'absent'

export interface Personality {
  name: string
  /** One sentence for the table in docs/deliverability.md. */
  says: string
  /** Weight in the mix of recipients. */
  share: number
  /** Number of recipient domains. Default 1. */
  domains?: number
  /**
   * Host names by preference. `*` is replaced by the domain with hyphens. Nothing listens at names that start with
   * `dead:`.
   */
  mx: string[]
  /** Default `none`: STARTTLS is not offered. */
  tls?: TlsMode | 'refused' | 'garbage' | 'small-hello'
  /**
   * Other EHLO keywords. Default: PIPELINING, 8BITMIME, SIZE 35882577, ENHANCEDSTATUSCODES. Null: EHLO is rejected as
   * unknown.
   */
  extensions?: readonly string[] | null
  /** Default `220 NAME ESMTP`. */
  greeting?: Act
  dns?: Dns
  /** Replies to RCPT for mailboxes that aren't ok. */
  unknown?: string
  full?: string
  /** Percentages of mailboxes that are unknown (default 3) and full (default 1). The rest are ok. */
  mix?: { unknown: number; full: number }
  /** Accepts mail at the first attempt, so that only the sender's own shaping can delay it. */
  healthy?: true
  /** The required final state of mail to a good mailbox; null if two states are valid. Default `delivered`. */
  end?: End | null
  /** Called for each run, because rules keep state. */
  rules?: () => Rule[]
}

/**
 * Returns a personality's recipient domains. They are made up, but its exchangers have real names, because those
 * identify providers.
 */
export function domainsOf({ name, domains = 1 }: Personality): string[] {
  return Array.from({ length: domains }, (_, at) => (at === 0 ? `${name}.test` : `${name}-${at + 1}.test`))
}

/** Parses the kind of mailbox from its address. */
export function mailboxOf(recipient: string): Mailbox {
  const kind = /-(unknown|full)@/.exec(recipient)?.[1]
  return (kind as Mailbox | undefined) ?? 'ok'
}
