/** Where on its way a delivery was when its fate was decided. */
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
 * What a failure is about. `recipient`: the mailbox is not there or closed · `mailbox-full`: it has no room · `policy`: a rule forbids it, theirs
 * or ours · `reputation`: they do not trust our address or domain · `content`: what the message holds · `size`: how large it is · `tls`:
 * encryption · `dns`: names, their zone's or ours · `network`: connections, timeouts, loops · `quota`: we send too much or too fast ·
 * `temporary`: the server's own trouble of the moment, greylisting included.
 */
export const CATEGORIES = [
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
export type Category = (typeof CATEGORIES)[number]

/** Bounces in the words of the wire format (reference: wire format §5.3). */
export const SUB_TYPES = [
  'General',
  'NoEmail',
  'MailboxFull',
  'MessageTooLarge',
  'ContentRejected',
  'AttachmentRejected',
] as const
export type SubType = (typeof SUB_TYPES)[number]

/**
 * What a reply means for the delivery: `defer`: it is tried again · `bounce`: that was the last word · `suppress`: the last word, and the
 * address is dead: it belongs on the suppression list, it alone.
 */
export const BOUNCE_ACTIONS = ['bounce', 'defer', 'suppress'] as const
export type BounceAction = (typeof BOUNCE_ACTIONS)[number]

/** What the operator can do about it: one sentence, and where. */
export interface Advice {
  text: string
  link?: string
}

/** What a reply asks of the lane it came through, for so many minutes: less mail, none at all, or fewer connections at the same pace. */
export const SHAPINGS = ['slow', 'pause', 'connections'] as const
export interface Shaping {
  kind: (typeof SHAPINGS)[number]
  minutes: number
}

/** The conditions of a rule: all that are given must fit; of a list, one. */
export interface BounceConditions {
  /** Basic codes: `550`, `55x`, `5xx`. */
  code?: readonly string[]
  /** Enhanced codes: `5.1.1`, `x.1.1`, `5.7.x`, `5.7.606-649`; `x` stands for any number. */
  enhanced?: readonly string[]
  /** One of them must be found in the text, its lines joined by spaces. */
  text?: readonly RegExp[]
  phase?: readonly Phase[]
  /** Ids of mailbox providers. */
  provider?: readonly string[]
}

/** What replies mean, as data: the first rule whose conditions fit tells. */
export interface BounceRule extends BounceConditions {
  /** A name for people and tests. */
  topic: string
  category: Category
  action: BounceAction
  /** What the server says, in words that complete "mx.example.com …". */
  says: string
  subType: SubType
  advice?: Advice
  shaping?: Shaping
}
