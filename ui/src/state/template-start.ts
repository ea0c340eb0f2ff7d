/** A template as the beginning of a broadcast, which has tags of contacts and no variables of its own. Pure. */

interface Variable {
  key: string
  fallback_value: string | number | null
}

interface Start {
  html: string
  text: string | null
  document: Record<string, unknown> | null
}

/** What can't stand in a tag. */
const UNFIT = /[{}|\r\n]/

/**
 * The content with the fallbacks of variables in their tags: in a broadcast, nothing else would fill them.
 * @param variables of the template
 */
export function withVariableFallbacks<T extends Start>(start: T, variables: readonly Variable[]): T {
  const fallbacks = new Map(
    variables.flatMap(({ key, fallback_value: fallback }) =>
      fallback === null || UNFIT.test(String(fallback)) ? [] : [[key, String(fallback)] as const],
    ),
  )
  if (fallbacks.size === 0) return start
  const filled = (source: string): string =>
    source.replaceAll(/\{\{\{\s*([A-Za-z0-9_]+)\s*\}\}\}/g, (tag, key: string) => {
      const fallback = fallbacks.get(key)
      return fallback === undefined ? tag : `{{{${key}|${fallback}}}}`
    })
  return {
    ...start,
    html: filled(start.html),
    text: start.text && filled(start.text),
    document: start.document && (withFallbacks(start.document, fallbacks, filled) as T['document']),
  }
}

/** A node of a document, or what is in one. Variables are nodes of their own; tags also stand in addresses. */
function withFallbacks(
  part: unknown,
  fallbacks: ReadonlyMap<string, string>,
  filled: (source: string) => string,
): unknown {
  if (typeof part === 'string') return filled(part)
  if (Array.isArray(part)) return part.map((one) => withFallbacks(one, fallbacks, filled))
  if (typeof part !== 'object' || part === null) return part
  const whole = Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, withFallbacks(value, fallbacks, filled)]),
  )
  const attrs = whole.attrs as { key?: string; fallback?: string } | undefined
  if (whole.type !== 'variable' || !attrs?.key || attrs.fallback) return whole
  return { ...whole, attrs: { ...attrs, fallback: fallbacks.get(attrs.key) ?? '' } }
}
