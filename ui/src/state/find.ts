/** Matches an id. */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

/**
 * Returns the ID in `text`, in lower case. The text may be a dashboard URL or a log line. Null if it contains no ID.
 */
export const extractId = (text: string): string | null => UUID.exec(text)?.[0].toLowerCase() ?? null

/** Returns the items whose label has a word starting with each word of `text`: `a k` finds API keys. */
export function filterByLabel<T extends { label: string }>(items: readonly T[], text: string): T[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter(({ label }) => {
    const words = label.toLowerCase().split(/\s+/)
    return wanted.every((part) => words.some((word) => word.startsWith(part)))
  })
}

/**
 * Returns the items that have a text containing `part`.
 * @param part in lower case
 */
export const filterByText = <T>(
  items: readonly T[],
  part: string,
  texts: (item: T) => readonly string[],
): T[] => items.filter((item) => texts(item).some((text) => text.toLowerCase().includes(part)))
