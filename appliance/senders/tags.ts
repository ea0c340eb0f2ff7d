/**
 * Reads a tag-list, `name=value; …` (RFC 6376 §3.2). White space around names and values does not count.
 * Undefined when it is none: a part without `=`, or a name twice.
 */
export function parseTags(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>()
  const parts = text.split(';')
  if (parts.at(-1)!.trim() === '') parts.pop()
  for (const part of parts) {
    const match = /^\s*([A-Za-z]\w*)\s*=([^]*)$/.exec(part)
    const name = match?.[1]
    if (!match || name === undefined || tags.has(name)) return undefined
    tags.set(name, match[2]!.trim())
  }
  return tags
}
