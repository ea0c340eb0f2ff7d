/** Decides what a domain does with mail to its addresses. Pure. */

/** keep: store and send to webhooks · refuse: reject like an unknown address · drop: accept and discard. */
export const RECEIVING_ACTIONS = ['keep', 'refuse', 'drop'] as const
export type ReceivingAction = (typeof RECEIVING_ACTIONS)[number]

/** A rule of a domain. The first one whose pattern matches decides. */
export interface ReceivingRule {
  /** Local part in lower case; `*` stands for any text, including none. */
  pattern: string
  action: ReceivingAction
}

/** Maximum rules per domain, and maximum pattern length (RFC 5321 §4.5.3.1.1). */
export const MOST_RULES = 100
export const LONGEST_PATTERN = 64

/** Addresses that every domain must accept (RFC 5321 §4.5.1, RFC 2142 §4). */
const ALWAYS = new Set(['postmaster', 'abuse'])

/** Decides what happens with mail to a local part; keeps it when no rule matches. */
export function actionFor(rules: readonly ReceivingRule[], local: string): ReceivingAction {
  const name = local.toLowerCase()
  if (ALWAYS.has(name)) return 'keep'
  return rules.find(({ pattern }) => matches(pattern, name))?.action ?? 'keep'
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
