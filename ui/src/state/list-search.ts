/** Searches lists that are fully loaded, without a request. Pure. */

/** Number of rows above which a list has a search field. */
export const MIN_ROWS_FOR_SEARCH = 8

/** Shortens API keys in a search to their prefix, so that secrets don't end up in the address bar or history. */
export const redactApiKeys = (text: string): string => text.replaceAll(/\b(re_\w{8})\w+/g, '$1')

/** Returns the rows whose visible text contains all words, ignoring case. */
export function filterByWords<T>(
  rows: readonly T[],
  text: string,
  shown: (row: T) => readonly string[],
): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter((row) => {
    const all = shown(row).join('\n').toLowerCase()
    return words.every((word) => all.includes(word))
  })
}
