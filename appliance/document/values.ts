/** Readers for the values in a document: each checks a value and describes what it accepts. */

/** Reads one kind of value. */
export interface ValueParser<T> {
  /** Returns the value; undefined if it is invalid. */
  read: (value: unknown) => T | undefined
  /** Describes valid values; completes "Invalid … field: ". */
  expected: string
}

/** Control characters other than line feeds and tabs, and lone surrogates. */
const unprintable = /[^\P{Cc}\n\t]|\p{Cs}/u

export const text = (most: number): ValueParser<string> => ({
  read: (value) =>
    typeof value === 'string' && value.length <= most && !unprintable.test(value) ? value : undefined,
  expected: `a text of at most ${most} characters without control characters`,
})

export const line = (most: number): ValueParser<string> => ({
  read: (value) => {
    const read = text(most).read(value)
    return read === undefined || /[\n\t]/.test(read) ? undefined : read
  },
  expected: `a line of at most ${most} characters`,
})

export const oneOf = <const T extends readonly (string | number | boolean)[]>(
  ...values: T
): ValueParser<T[number]> => ({
  read: (value) => values.find((one) => one === value),
  expected: `one of ${values.map((one) => `\`${one}\``).join(', ')}`,
})

export const integerBetween = (least: number, most: number): ValueParser<number> => ({
  read: (value) => (Number.isInteger(value) && least <= +value! && +value! <= most ? +value! : undefined),
  expected: `a whole number from ${least} to ${most}`,
})

export const color: ValueParser<string> = {
  read: (value) =>
    typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value) ? value.toLowerCase() : undefined,
  expected: 'a color such as `#1b1c1f`',
}

export const nullable = <T>({ read, expected }: ValueParser<T>): ValueParser<T | null> => ({
  read: (value) => (value === null ? null : read(value)),
  expected: `${expected}, or null`,
})

/** Names in merge tags: `FIRST_NAME`, `contact.first_name`, `contact.properties.plan`. */
export const mergeKey: ValueParser<string> = {
  read: (value) =>
    typeof value === 'string' && value.length <= 100 && /^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+){0,2}$/.test(value)
      ? value
      : undefined,
  expected: 'a name of letters, digits and `_`, such as `contact.first_name`',
}

/** Text that replaces a tag without a value. Braces and bars would end the tag. */
export const fallback: ValueParser<string> = {
  read: (value) => {
    const read = line(200).read(value)
    return read === undefined || /[{}|]/.test(read) ? undefined : read
  },
  expected: 'a line of at most 200 characters without `{`, `}` and `|`',
}

const TAG = /\{\{\{[^{}]*\}\}\}/g
const MAX_URL = 2000

/**
 * Reports whether a link is allowed in an email: only `http`, `https` and `mailto`. Merge tags are allowed in its query
 * and fragment. A tag may also be the whole link, except for contact data, because a stranger could then choose where
 * the link leads.
 */
function isSafeLink(href: string): boolean {
  if (/^\{\{\{(?!contact\.|FIRST_NAME|LAST_NAME|EMAIL)[A-Za-z0-9_]+\}\}\}$/.test(href)) return true
  const [before = ''] = href.split(/[?#]/, 1)
  if (before.includes('{') || href.replaceAll(TAG, '').includes('{')) return false
  if (!isUrl(href.replaceAll(TAG, 'x'))) return false
  return /^https?:\/\/[^/?#\\\s]+/i.test(href) || /^mailto:[^\s@/]+@[^\s@/?]+/i.test(href)
}

function isUrl(href: string): boolean {
  if (href.length > MAX_URL || /[\s<>"\\\p{Cc}]/u.test(href)) return false
  return URL.canParse(href)
}

/** The target of a link; empty if not set yet. */
export const link: ValueParser<string> = {
  read: (value) => (typeof value === 'string' && (value === '' || isSafeLink(value)) ? value : undefined),
  expected:
    'an `https://`, `http://` or `mailto:` address, with merge tags only after `?` or `#`, or a tag such as `{{{RESET_URL}}}`',
}

/** The URL of an image; empty if not set yet. */
export const imageSource: ValueParser<string> = {
  read: (value) => {
    if (value === '') return value
    const isImage = typeof value === 'string' && isUrl(value) && /^https?:\/\/[^/?#]/i.test(value)
    return isImage && !value.includes('{') ? value : undefined
  },
  expected: 'an `https://` or `http://` address',
}
