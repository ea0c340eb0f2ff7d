/** Finding in lists that the browser has whole: nothing is asked of the appliance. Pure. */

/** Rows that are seen at a glance: with more of them there is a field to find one. */
export const FEW = 8

/** A search with every whole API key cut to its prefix: the address bar and its history must not hold the secret. */
export const withoutToken = (text: string): string => text.replaceAll(/\b(re_\w{8})\w+/g, '$1')

/** The rows that have all the words somewhere in what is shown of them, in whatever case. */
export function withWords<T>(rows: readonly T[], text: string, shown: (row: T) => readonly string[]): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter((row) => {
    const all = shown(row).join('\n').toLowerCase()
    return words.every((word) => all.includes(word))
  })
}
