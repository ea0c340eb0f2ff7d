import type { Advice, BounceAction, BounceRule, Category, Shaping, SubType, Phase } from './bounce.ts'
import type { Reply } from './reply.ts'

/** What is known of a reply beside its words. */
export interface About {
  phase: Phase
  /** Id of the mailbox provider that said it; null or absent when it is none of those known. */
  provider?: string | null | undefined
}

/** What a reply means. */
export interface Classification {
  /** Name of the rule. */
  topic: string
  category: Category
  /** `defer` for every 4yz; `suppress` only for what concerns the recipient alone. */
  action: BounceAction
  /** Completes "mx.example.com …". */
  says: string
  subType: SubType
  advice?: Advice
  /** What the lane should do. The pauses that providers are known to want are in their own table. */
  shaping?: Shaping
}

/** Tells what a reply means; `createClassifier` makes one. Pure. */
export type Classify = (reply: Reply, about: About) => Classification

/** The patterns look back and forth in a text that is the remote's: this bounds their work. */
const MOST_CHARS = 2000

/** Addresses that a reply echoes: their words are not the server's, and a sender may choose them (`helo-not@example.com`). */
const ADDRESS = /[^\s<>()[\]"',;:=@]{1,64}@[^\s<>()[\]"',;:=@]{1,255}/g

/** A reply as the rules see it. */
interface Said {
  code: string
  enhanced: string | null
  text: string
  about: About
}

/** For a reply that fits no rule; the shipped table has a rule for each. */
const UNKNOWN: BounceRule = {
  topic: 'unknown',
  category: 'temporary',
  action: 'defer',
  says: 'answers what no rule knows',
  subType: 'General',
}

/**
 * Makes a classifier of rules (config/bounces.toml): the first that fits tells.
 * @param current asked each time: the rules can be exchanged
 */
export function createClassifier(current: () => readonly BounceRule[]): Classify {
  return (reply, about) => {
    const text = reply.text.slice(0, MOST_CHARS).replaceAll(ADDRESS, '@').replaceAll(/\s+/g, ' ')
    const said: Said = { code: String(reply.code), enhanced: enhancedOf(reply, text), text, about }
    const rule = current().find((one) => fits(one, said)) ?? UNKNOWN
    const { topic, category, says, subType, advice, shaping } = rule
    return {
      topic,
      category,
      action: actionOf(rule, said),
      says,
      subType,
      ...(advice && { advice }),
      ...(shaping && { shaping }),
    }
  }
}

/** qmail and its heirs write the enhanced code into the text: `sorry, no mailbox here by that name. (#5.1.1)`. */
function enhancedOf({ enhanced }: Reply, text: string): string | null {
  return enhanced ?? /#([45]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null
}

/** Replies said before MAIL are about us or the server, never about the recipient. */
const BEFORE_MAIL: readonly Phase[] = ['connect', 'greeting', 'ehlo', 'starttls']

/** Before RCPT no recipient was named: "user unknown" to MAIL is about the sender. */
const BEFORE_RCPT: readonly Phase[] = [...BEFORE_MAIL, 'mail']

function actionOf({ action }: BounceRule, said: Said): BounceAction {
  if (!mayBeFinal(said)) return 'defer'
  return action === 'suppress' && BEFORE_RCPT.includes(said.about.phase) ? 'bounce' : action
}

/**
 * Whether a reply can be the last word at all. 4yz is tried again whatever its text says: a wrong bounce costs the sender a customer, a useless
 * retry costs a connection. Of "552 4.2.2" the word counts that does no harm.
 */
function mayBeFinal({ code, enhanced, about }: Said): boolean {
  return code >= '500' && !BEFORE_MAIL.includes(about.phase) && !enhanced?.startsWith('4')
}

function fits({ code, enhanced, text, phase, provider }: BounceRule, said: Said): boolean {
  return (
    (!phase || phase.includes(said.about.phase)) &&
    (!provider || provider.includes(said.about.provider ?? '')) &&
    (!code || code.some((one) => fitsCode(one, said.code))) &&
    (!enhanced || enhanced.some((one) => fitsEnhanced(one, said.enhanced))) &&
    (!text || text.some((one) => one.test(said.text)))
  )
}

function fitsCode(pattern: string, code: string): boolean {
  return [...pattern].every((digit, at) => digit === 'x' || digit === code[at])
}

/** `5.7.606-649` and `x.1.1` (RFC 3463 §2: class, subject, detail). */
function fitsEnhanced(pattern: string, enhanced: string | null): boolean {
  const numbers = enhanced?.split('.').map(Number)
  if (!numbers) return false
  return pattern.split('.').every((part, at) => {
    const [first, last = first] = part.split('-').map(Number)
    return part === 'x' || (numbers[at]! >= first! && numbers[at]! <= last!)
  })
}
