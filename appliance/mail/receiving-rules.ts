/** Decides how a domain handles mail to its addresses. Pure. */
/**
 * keep: store and send to webhooks · forward: the same, and forward to other addresses · webhook: send to webhooks and
 * store nothing · refuse: reject like an unknown address · drop: accept and discard.
 */
export const RECEIVING_ACTIONS = ['keep', 'forward', 'webhook', 'refuse', 'drop'] as const
export type ReceivingAction = (typeof RECEIVING_ACTIONS)[number]

/** A rule of a domain. The first one whose pattern matches decides. */
export interface ReceivingRule {
  /** Local part in lower case; `*` stands for any text, including none. */
  pattern: string
  action: ReceivingAction
  /** Addresses that mail is forwarded to. Set for `forward` and for no other action. */
  to?: string[] | undefined
}

/** Maximum addresses per rule. */
export const MAX_FORWARD_ADDRESSES = 10

/** Maximum rules per domain, and maximum pattern length (RFC 5321 §4.5.3.1.1). */
export const MAX_RULES_PER_DOMAIN = 100
export const MAX_PATTERN_LENGTH = 64

/** Local parts that every domain must accept (RFC 5321 §4.5.1, RFC 2142 §4). */
const ALWAYS = new Set(['postmaster', 'abuse'])

const KEEP: ReceivingRule = { pattern: '*', action: 'keep' }

/** Finds the rule for mail to a local part; keeps the mail when none matches. */
export function findRule(rules: readonly ReceivingRule[], local: string): ReceivingRule {
  const name = local.toLowerCase()
  if (ALWAYS.has(name)) return KEEP
  return rules.find(({ pattern }) => matches(pattern, name)) ?? KEEP
}

/** Matches a pattern in linear time: each piece is searched once, from where the previous one ended. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}

/** Formats a rule for people: `support*: forward ada@example.org`. */
export const formatRule = ({ pattern, action, to = [] }: ReceivingRule): string =>
  [`${pattern}: ${action}`, ...to].join(' ')
