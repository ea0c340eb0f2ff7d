/** Models of mail servers, for simulations (config/receivers.toml). Types only. */

/** A limit per sending IP. */
export interface ReceiverLimit {
  most: number
  /** The reply to mail above the limit: lines separated by LF, with `{ip}` and `{recipient}`. */
  reply: string
  /** URL of the published limit; null for an estimate. */
  source: string | null
}

/** A limit of messages in any 60 seconds. */
export interface ReceiverRate extends ReceiverLimit {
  /** The limit on the first day of an IP that the receiver doesn't know; null if it is the same. */
  newIp: number | null
  /** Growth factor of `newIp` per day. */
  growth: number
  /** How long an IP above the limit is refused. */
  penaltyMinutes: number
}

/** A temporary refusal: how long it lasts, and the reply. */
export interface ReceiverDeferral {
  minutes: number
  reply: string
}

/** Names of the limits in files and results. */
export type ReceiverLimitName =
  'connections' | 'messages_per_connection' | 'messages_per_minute' | 'recipients_per_message'

/** A model of the mail servers of a provider. */
export interface Receiver {
  id: string
  /** Display name. */
  name: string
  /** Host names of the provider's mail exchangers, best first. */
  mx: string[]
  /** Recipient domains, in lower case; empty if the provider has no well-known ones. */
  domains: string[]
  /** Weight in the default mix of recipients. */
  share: number
  /** Time for one command and its reply, and from the final dot to the reply, in milliseconds. */
  roundTripMs: number
  acceptMs: number
  /** Replies to RCPT for a mailbox that doesn't exist, or is full. */
  unknown: string
  full: string
  connections: ReceiverLimit | null
  messagesPerConnection: ReceiverLimit | null
  recipientsPerMessage: ReceiverLimit | null
  messagesPerMinute: ReceiverRate | null
  /** Deferral of the first attempts to each recipient; null for none. */
  greylist: ReceiverDeferral | null
  /** Refusal of an IP that the receiver doesn't know; null for none. */
  unknownIp: ReceiverDeferral | null
}
