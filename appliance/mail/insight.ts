/** Results of checks of a message. Pure. */

/** Verdicts in order of urgency. `attention`: receivers may object. `advice`: it could be better. */
export const VERDICTS = ['block', 'attention', 'advice', 'pass'] as const
export type Verdict = (typeof VERDICTS)[number]

/** The result of one check of a message. */
export interface Insight {
  /** ID of the check, such as `dmarc`. */
  id: string
  verdict: Verdict
  /** What was found, as a sentence. */
  note: string
  /** Why the problem matters; null if the check passed. */
  why: string | null
  /** How to fix the problem; null if the check passed. */
  fix: string | null
  /** Where the problem was seen, such as links; at most five. */
  evidence: string[]
}

interface Wording {
  note: string
  why: string
  fix: string
  /** The note if the check passed. */
  well: string
  evidence?: readonly string[]
}

/** Maximum number of examples, and their length (characters). */
const EXAMPLES = 5
const LONGEST = 200

/** Builds an insight. @param wrong the verdict if the check failed; null if it passed */
export function createInsight(id: string, wrong: Verdict | null, words: Wording): Insight {
  if (wrong === null) return { id, verdict: 'pass', note: words.well, why: null, fix: null, evidence: [] }
  const { note, why, fix, evidence = [] } = words
  const examples = [...new Set(evidence)].slice(0, EXAMPLES).map((one) => one.trim().slice(0, LONGEST))
  return { id, verdict: wrong, note, why, fix, evidence: examples }
}

/** Sorts insights, the most urgent first. */
export const sortByUrgency = (insights: readonly Insight[]): Insight[] =>
  insights.toSorted((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict))
