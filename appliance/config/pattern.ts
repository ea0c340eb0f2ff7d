/** Maximum number of repetitions in `{n,m}`. */
const MOST_REPEATS = 100
/** Maximum number of quantifiers between two `|`, because their ranges multiply. */
const MOST_QUANTIFIERS = 3

/** A token of a pattern: an escape, a class, the start of a group, a quantifier or a character. */
const token =
  /\\(?:u\{[^}]*\}|p\{[^}]*\}|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]))?|\{\d+(?:,\d*)?\}|[\s\S]/gu

/**
 * Returns why a regular expression isn't safe for untrusted text; undefined when it is safe. Safe patterns take
 * polynomial time of low degree: they have no repeated group, no unbounded `.`, and no backreference.
 */
export function explainUnsafePattern(pattern: string): string | undefined {
  let quantifiers = 0
  let previous = ''
  for (const [part] of pattern.matchAll(token)) {
    if (/^\\(?:[1-9]|k<)/.test(part)) return 'has a backreference'
    if (part === '|') quantifiers = 0
    if (part === '*' || part === '+' || /^\{\d/.test(part)) {
      if (previous === ')') return `repeats a group with ${part}`
      if (previous === '.' && !part.startsWith('{')) return `has .${part}; use .{0,80}`
      if (isWide(part)) return `allows more than ${MOST_REPEATS} repetitions with ${part}`
      if (++quantifiers > MOST_QUANTIFIERS)
        return `has more than ${MOST_QUANTIFIERS} quantifiers in one alternative`
    }
    previous = part
  }
  return undefined
}

function isWide(part: string): boolean {
  const [, first, comma, last] = /^\{(\d+)(,?)(\d*)\}$/.exec(part) ?? []
  if (first === undefined) return false
  return comma === '' ? Number(first) > MOST_REPEATS : last === '' || Number(last) > MOST_REPEATS
}
