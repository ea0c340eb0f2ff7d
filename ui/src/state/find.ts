/** What the palette makes of what is typed. */

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i

/** The id in `text`, in lower case; also out of a pasted address of the dashboard or a line of a log. Null without one. */
export const idIn = (text: string): string | null => UUID.exec(text)?.[0].toLowerCase() ?? null

/** Those whose label holds every word of `text`, where one begins: `a k` finds API keys. */
export function matching<T extends { label: string }>(items: readonly T[], text: string): T[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter(({ label }) => {
    const words = label.toLowerCase().split(/\s+/)
    return wanted.every((part) => words.some((word) => word.startsWith(part)))
  })
}

/** Those of whose texts one holds `part`, wherever it stands. @param part in lower case */
export const holding = <T>(items: readonly T[], part: string, texts: (item: T) => readonly string[]): T[] =>
  items.filter((item) => texts(item).some((text) => text.toLowerCase().includes(part)))
