/** What a domain does with mail to its addresses. Pure. */

/** keep: stored and told to webhooks · refuse: refused like an unknown address · drop: accepted and forgotten. */
export const RECEIVING_ACTIONS = ['keep', 'refuse', 'drop'] as const
export type ReceivingAction = (typeof RECEIVING_ACTIONS)[number]

/** A rule of a domain. The first one whose pattern matches decides. */
export interface ReceivingRule {
  /** Local part, in lower case; `*` stands for any text, also none. */
  pattern: string
  action: ReceivingAction
}

/** Most rules of a domain, and the longest pattern (RFC 5321 §4.5.3.1.1). */
export const MOST_RULES = 100
export const LONGEST_PATTERN = 64

/** Addresses that every domain must take (RFC 5321 §4.5.1, RFC 2142 §4). */
const ALWAYS = new Set(['postmaster', 'abuse'])

/** What happens to mail to a local part; where no rule matches it is kept. */
export function actionFor(rules: readonly ReceivingRule[], local: string): ReceivingAction {
  const name = local.toLowerCase()
  if (ALWAYS.has(name)) return 'keep'
  return rules.find(({ pattern }) => matches(pattern, name))?.action ?? 'keep'
}

/** Each piece is searched for once, from where the one before ended: no pattern takes longer than its text. */
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
