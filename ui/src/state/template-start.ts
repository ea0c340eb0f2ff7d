/**
 * Converts a template into the start of a broadcast, which has merge tags for contact fields but no variables. Pure.
 */

interface Variable {
  key: string
  fallback_value: string | number | null
}

interface Start {
  html: string
  text: string | null
  document: Record<string, unknown> | null
}

/** Matches characters that aren't allowed in a fallback. */
const UNFIT = /[{}|\r\n]/

/**
 * Adds the fallbacks of a template's variables to their merge tags, since a broadcast has no other values for them.
 * @param variables the template's variables
 */
export function addVariableFallbacks<T extends Start>(start: T, variables: readonly Variable[]): T {
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

/** Converts a node of a document or one of its values. Variables are nodes, but URLs contain merge tags too. */
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
