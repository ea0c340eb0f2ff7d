/** The phase of an attempt in which the outcome was decided. */
export type Phase =
  | 'queue' // waiting, before any attempt: expired, dropped by an operator
  | 'sign'
  | 'route' // DNS: MX, addresses, forbidden targets
  | 'connect'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'report' // by mail, after the server had accepted the message

/**
 * Categories of failures. `recipient`: the mailbox doesn't exist or is closed · `mailbox-full` · `policy`: a rule
 * forbids it, theirs or ours · `reputation`: they distrust our IP or domain · `content` · `size` · `tls` · `dns`:
 * names, in their zone or ours · `network`: connections, timeouts, loops · `quota`: we send too much or too fast ·
 * `temporary`: a passing problem of the server, including greylisting.
 */
export const BOUNCE_CATEGORIES = [
  'recipient',
  'mailbox-full',
  'policy',
  'reputation',
  'content',
  'size',
  'tls',
  'dns',
  'network',
  'quota',
  'temporary',
] as const
export type BounceCategory = (typeof BOUNCE_CATEGORIES)[number]

/** Bounce subtypes of the wire format (reference: wire format §5.3). */
export const BOUNCE_SUBTYPES = [
  'General',
  'NoEmail',
  'MailboxFull',
  'MessageTooLarge',
  'ContentRejected',
  'AttachmentRejected',
] as const
export type BounceSubtype = (typeof BOUNCE_SUBTYPES)[number]

/**
 * Effects of a reply on the delivery. `defer`: retry · `bounce`: final · `suppress`: final, and the address doesn't
 * exist, so that it goes on the suppression list.
 */
export const BOUNCE_ACTIONS = ['bounce', 'defer', 'suppress'] as const
export type BounceAction = (typeof BOUNCE_ACTIONS)[number]

/** Advice for the operator: a sentence and a link. */
export interface Advice {
  text: string
  link?: string
}

/**
 * How a lane reacts to a reply for a number of minutes: it sends less, sends nothing, or uses fewer connections at the
 * same pace.
 */
export const SHAPING_ACTIONS = ['slow', 'pause', 'connections'] as const
export interface Shaping {
  kind: (typeof SHAPING_ACTIONS)[number]
  minutes: number
}

/** The conditions of a rule. All given conditions must match; of a list, one element is enough. */
export interface BounceConditions {
  /** Reply codes: `550`, `55x`, `5xx`. */
  code?: readonly string[]
  /** Enhanced status codes: `5.1.1`, `x.1.1`, `5.7.x`, `5.7.606-649`; `x` stands for any number. */
  enhanced?: readonly string[]
  /** One of them must match the text, with its lines joined by spaces. */
  text?: readonly RegExp[]
  phase?: readonly Phase[]
  /** Ids of mailbox providers. */
  provider?: readonly string[]
}

/** A rule for what replies mean. The first rule whose conditions match decides. */
export interface BounceRule extends BounceConditions {
  /** Name of the rule, for people and tests. */
  topic: string
  category: BounceCategory
  action: BounceAction
  /** The meaning in words that complete "mx.example.com …". */
  says: string
  subType: BounceSubtype
  advice?: Advice
  shaping?: Shaping
}
