/** A/B tests of broadcasts: their limits, and which variant is sent to the rest. Pure. */

/** The names of the variants. `A` is the content of the broadcast itself. */
export const VARIANTS = ['A', 'B', 'C', 'D'] as const
export type VariantName = (typeof VARIANTS)[number]

/**
 * Limits of the share of recipients that a test goes to, in percent. `WHOLE` tests all recipients, so there is no winner
 * to send.
 */
export const SHARE = { least: 10, most: 50, usual: 20 }
export const WHOLE = 100
/** Limits of the time between the test emails and the choice of the winner, in hours. */
export const WAIT_HOURS = { least: 1, most: 72, usual: 4 }

/** Minimum number of people who clicked. With fewer, the result is mostly chance, and variant A is sent. */
export const LEAST_CLICKS = 10
/** Recommended number of recipients per variant: at a click rate of 2%, about ten of them click. */
export const LEAST_TESTED = 500

/** The values that differ from variant A; null for those that are the same. */
export interface Variant {
  /** The name in the From field. The address is always that of A. */
  fromName: string | null
  subject: string | null
  /** Empty for no preview text. */
  previewText: string | null
  body: VariantBody | null
}

/** The body of a variant, as the body of a draft. */
export interface VariantBody {
  html: string | null
  /** Null to generate it from the HTML; empty for no text part. */
  text: string | null
  /** JSON of the document that both were compiled from; null if they were written as code. */
  document: string | null
}

/** An A/B test of a draft. */
export interface AbTest {
  /** Percent of the recipients that get a test email. */
  share: number
  /** Hours from the last test email until the winner is chosen; null with a share of 100. */
  waitHours: number | null
  /** The variants from B on. */
  variants: Variant[]
}

/** Numbers of the recipients of one variant. */
export interface VariantCounts {
  /** Number of emails attempted at least once. */
  sent: number
  delivered: number
  /** Number of people who clicked a link; bots aren't counted. */
  clicked: number
  unsubscribed: number
  complained: number
}

/**
 * Why a variant was chosen. `few`: fewer clicks than `LEAST_CLICKS`. `tie`: the first of several with the same rate.
 * `person`: somebody chose it.
 */
export type ChoiceReason = 'clicks' | 'tie' | 'few' | 'person'

/** The choice of a winner, with the numbers on which it is based. */
export interface Choice {
  /** Index of the variant. */
  winner: number
  reason: ChoiceReason
  counts: VariantCounts[]
}

export const variantName = (index: number): VariantName => VARIANTS[index]!

/** Share of delivered emails whose recipients clicked. */
const rateOf = ({ clicked, delivered }: VariantCounts): number => (delivered === 0 ? 0 : clicked / delivered)

/** Chooses the variant with the highest rate of clicks. With too few clicks in all, variant A. */
export function chooseWinner(counts: readonly VariantCounts[]): Choice {
  const copy = counts.map((one) => ({ ...one }))
  const clicks = counts.reduce((sum, { clicked }) => sum + clicked, 0)
  if (clicks < LEAST_CLICKS) return { winner: 0, reason: 'few', counts: copy }
  const rates = counts.map(rateOf)
  const best = Math.max(...rates)
  const winner = rates.indexOf(best)
  return { winner, reason: rates.lastIndexOf(best) === winner ? 'clicks' : 'tie', counts: copy }
}

/** Two-sided 5% quantile of the standard normal distribution. */
const CERTAIN = 1.96

/** Reports whether the difference between the winner and the second best is significant at the 5% level. */
export function isClear(counts: readonly VariantCounts[], winner: number): boolean {
  const first = counts[winner]
  const [second] = counts.filter((_, index) => index !== winner).toSorted((a, b) => rateOf(b) - rateOf(a))
  if (!first || !second || first.delivered === 0 || second.delivered === 0) return false
  const pooled = (first.clicked + second.clicked) / (first.delivered + second.delivered)
  const spread = Math.sqrt(pooled * (1 - pooled) * (1 / first.delivered + 1 / second.delivered))
  return spread > 0 && (rateOf(first) - rateOf(second)) / spread >= CERTAIN
}

/** Explains in sentences why a variant was chosen, with the numbers. */
export function choiceSentence({ winner, reason, counts }: Choice): string {
  const name = variantName(winner)
  const numbers = numbersOf(counts)
  const few = `Fewer than ${LEAST_CLICKS} people clicked, which says too little. Variant A was chosen. ${numbers}`
  switch (reason) {
    case 'person':
      return `Somebody chose variant ${name}. ${numbers}`
    case 'few':
      return few
    case 'tie':
      return `The best variants have the same rate of clicks. Variant ${name}, the first of them, was chosen. ${numbers}`
    case 'clicks':
      return `Variant ${name} has the highest rate of clicks. ${numbers}${
        isClear(counts, winner) ? '' : ' The difference is so small that it may be chance.'
      }`
  }
}

/** Lists clicks and deliveries: `Clicks: A 12 of 500 (2.4%), B 31 of 498 (6.2%).` */
const numbersOf = (counts: readonly VariantCounts[]): string => {
  const each = counts.map((one, index) => {
    const rate = one.delivered === 0 ? '' : ` (${(100 * rateOf(one)).toFixed(1)}%)`
    const figures = `${one.clicked.toLocaleString('en')} of ${one.delivered.toLocaleString('en')}`
    return `${variantName(index)} ${figures}${rate}`
  })
  return `Clicks: ${each.join(', ')}.`
}
