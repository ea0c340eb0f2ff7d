/** What a field suggests while somebody types. Pure. */

/** A value, and what is shown for it. */
export type Suggestion = readonly [value: string, words: string]

/** Of those that meet a text at most so many are shown: more nobody reads. */
export const MOST_SUGGESTED = 100

const byWords = ([, a]: Suggestion, [, b]: Suggestion) => a.localeCompare(b)

/** Those whose words hold the text, whatever its case, by the alphabet; those that begin with it come first. */
export function suggested(all: readonly Suggestion[], text: string): Suggestion[] {
  const sought = text.trim().toLowerCase()
  const at = ([, words]: Suggestion) => words.toLowerCase().indexOf(sought)
  const found = all.filter((one) => at(one) !== -1).sort(byWords)
  return [...found.filter((one) => at(one) === 0), ...found.filter((one) => at(one) > 0)]
}
