import type {
  Advice,
  BounceAction,
  BounceRule,
  BounceCategory,
  Shaping,
  BounceSubtype,
  Phase,
} from './bounce.ts'
import type { Reply } from './reply.ts'

/** The context of a reply. */
export interface ReplyContext {
  phase: Phase
  /** Id of the mailbox provider; null or absent when unknown. */
  provider?: string | null | undefined
}

/** The meaning of a reply. */
export interface Classification {
  /** Name of the rule. */
  topic: string
  category: BounceCategory
  /** `defer` for every 4yz; `suppress` only when the recipient alone is the problem. */
  action: BounceAction
  /** Completes "mx.example.com …". */
  says: string
  subType: BounceSubtype
  advice?: Advice
  /** How the lane should react. The pauses that specific providers require are in the providers table. */
  shaping?: Shaping
}

/** Classifies a reply; `createClassifier` creates one. Pure. */
export type Classify = (reply: Reply, about: ReplyContext) => Classification

/**
 * Maximum number of characters of a reply that the patterns search. Limits their time, because the text is from the
 * remote server.
 */
const MOST_CHARS = 2000

/**
 * Matches addresses echoed in a reply. Words in them aren't the server's own, and a sender can choose them
 * (`helo-not@example.com`).
 */
const ADDRESS = /[^\s<>()[\]"',;:=@]{1,64}@[^\s<>()[\]"',;:=@]{1,255}/g

/** A reply in the form that rules match. */
interface Said {
  code: string
  enhanced: string | null
  text: string
  about: ReplyContext
}

/** Used when no rule matches; the shipped table has a rule for every reply. */
const UNKNOWN: BounceRule = {
  topic: 'unknown',
  category: 'temporary',
  action: 'defer',
  says: 'answers what no rule knows',
  subType: 'General',
}

/**
 * Creates a classifier from rules (config/bounces.toml); the first match decides.
 * @param current called each time, because the rules can be replaced
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

/**
 * Returns the enhanced status code. qmail and its derivatives put it in the text: `sorry, no mailbox here by that name.
 * (#5.1.1)`.
 */
function enhancedOf({ enhanced }: Reply, text: string): string | null {
  return enhanced ?? /#([45]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null
}

/** Phases before MAIL. Replies in them are about this server or the remote one, never about the recipient. */
const BEFORE_MAIL: readonly Phase[] = ['connect', 'greeting', 'ehlo', 'starttls']

/** Phases before RCPT, in which no recipient is known: "user unknown" at MAIL is about the sender. */
const BEFORE_RCPT: readonly Phase[] = [...BEFORE_MAIL, 'mail']

function actionOf({ action }: BounceRule, said: Said): BounceAction {
  if (!mayBeFinal(said)) return 'defer'
  return action === 'suppress' && BEFORE_RCPT.includes(said.about.phase) ? 'bounce' : action
}

/**
 * Whether a reply may be final. Every 4yz is retried whatever its text says: a wrong bounce costs the sender a
 * customer, a useless retry costs a connection. For contradictions such as "552 4.2.2", the code that does less harm
 * counts.
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

/** Matches patterns such as `5.7.606-649` and `x.1.1` (RFC 3463 §2: class, subject, detail). */
function fitsEnhanced(pattern: string, enhanced: string | null): boolean {
  const numbers = enhanced?.split('.').map(Number)
  if (!numbers) return false
  return pattern.split('.').every((part, at) => {
    const [first, last = first] = part.split('-').map(Number)
    return part === 'x' || (numbers[at]! >= first! && numbers[at]! <= last!)
  })
}
