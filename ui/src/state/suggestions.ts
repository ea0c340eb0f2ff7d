/** Suggestions while typing in a field. Pure. */

/** A value and its label. */
export type Suggestion = readonly [value: string, words: string]

/** Maximum number of suggestions shown. */
export const MAX_SUGGESTIONS = 100

const byWords = ([, a]: Suggestion, [, b]: Suggestion) => a.localeCompare(b)

/**
 * Returns the suggestions that contain the text, ignoring case. Sorted alphabetically, those that start with it first.
 */
export function findSuggestions(all: readonly Suggestion[], text: string): Suggestion[] {
  const sought = text.trim().toLowerCase()
  const at = ([, words]: Suggestion) => words.toLowerCase().indexOf(sought)
  const found = all.filter((one) => at(one) !== -1).sort(byWords)
  return [...found.filter((one) => at(one) === 0), ...found.filter((one) => at(one) > 0)]
}
