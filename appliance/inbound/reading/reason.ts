/** Finds the last server's reply in the text of a report, and the cause that it states. Pure. */
import type { BounceCategory, Phase } from '../../mail/bounce.ts'
import type { Reply } from '../../mail/reply.ts'

/** Classifies a reply by the bounce rules (mail/classify.ts). */
export type Categorize = (
  reply: Reply,
  about: { phase: Phase },
) => { topic: string; category: BounceCategory; action: 'bounce' | 'defer' | 'suppress' }

/** Longest diagnostic that is kept, in UTF-16 units. */
const MAX_DIAGNOSTIC = 8 * 1024

/**
 * Maximum number of characters that the rules match against: a hundred rules on 2000 characters take a millisecond, and
 * a report may have many recipients.
 */
const MAX_JUDGED = 800

/** Enhanced status code (RFC 3463 §2) that is not part of an IP address, a version or a date. */
const ENHANCED = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![.\d])/
/** Basic code (RFC 5321 §4.2.1) at the start of a reply, or after punctuation that introduces one. */
const BASIC = /(?:^|[\s#:;("'<>[\]])([45]\d\d)(?=[\s\-,;:)"'\]]|$)/
const ANNOUNCED = /(?:said|reply|response|error|reason|code|status|returned|<<<)\W{0,5}([45]\d\d)(?=\D|$)/i

/** Reply codes and text; null if not found. */
export interface ReplyCodes {
  code: number | null
  status: string | null
}

/** Finds the codes in a diagnostic: `550 5.1.1 …`, `550-5.1.1`, `(#5.1.1)`, `said: 550`. */
export function findCodes(text: string): ReplyCodes {
  const start = text.slice(0, 2000)
  const status = /#([245]\.\d{1,3}\.\d{1,3})\b/.exec(start)?.[1] ?? ENHANCED.exec(start)?.[1] ?? null
  const code = ANNOUNCED.exec(start)?.[1] ?? BASIC.exec(start)?.[1]
  return { code: code === undefined ? null : Number(code), status: isPossible(status) ? status : null }
}

/** RFC 3463 §3: subjects range from 0 to 7. */
const isPossible = (status: string | null): boolean => status !== null && /^[245]\.[0-7]\./.test(status)

/** Reports whether a status is no more specific than its class. */
export const isVague = (status: string | null): boolean => status === null || /^[245]\.0\.0$/.test(status)

/**
 * Finds the command that the server refused, if the report names it: Postfix's "in reply to RCPT TO", Exim's "after end
 * of data", sendmail's ">>>". The default is the end of data, which is the safest assumption, because rules about
 * unknown recipients that require RCPT don't apply then.
 */
function phaseIn(text: string): Phase {
  const start = text.slice(0, 4000)
  if (/end of data|after DATA|>>> DATA|reply to (?:end of )?DATA/i.test(start)) return 'body'
  if (/(?:>>> |after |reply to (?:the )?)RCPT\b|RCPT TO command|command: RCPT/i.test(start)) return 'rcpt'
  if (/(?:>>> |after |reply to (?:the )?)MAIL\b|MAIL FROM command|command: MAIL/i.test(start)) return 'mail'
  return 'body'
}

/**
 * Classifies a failure. A missing code is derived from the class of the status. A failure without any code counts as
 * permanent, and the rules match its text.
 */
export function classifyFailure(
  categorize: Categorize,
  { code, status, text }: ReplyCodes & { text: string },
): { category: BounceCategory; topic: string; invalid: boolean } {
  const permanent = status === null ? code === null || code >= 500 : !status.startsWith('4')
  const basic = code ?? (permanent ? 500 : 400)
  const phase = phaseIn(text)
  const start = text.slice(0, MAX_JUDGED)
  const { category, topic, action } = categorize({ code: basic, enhanced: status, text: start }, { phase })
  return { category, topic, invalid: action === 'suppress' }
}

/** Collapses a text to one line. */
export const collapseToLine = (text: string): string =>
  text.slice(0, MAX_DIAGNOSTIC).replaceAll(/\s+/g, ' ').trim()
