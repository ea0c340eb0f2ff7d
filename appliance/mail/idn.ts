/**
 * Formats internationalized domain names for people: the Unicode form of A-labels (RFC 5890), or the A-label when the
 * Unicode form could be confused with another name, as in browsers. Pure; also used by the dashboard, so it needs
 * nothing of Node.
 */

/** Decodes the part of an A-label after `xn--` (RFC 3492 §6.2); null when invalid. */
function decode(text: string): string | null {
  const cut = text.lastIndexOf('-')
  const output = cut > 0 ? [...text.slice(0, cut)].map((char) => char.codePointAt(0)!) : []
  let [n, i, bias] = [128, 0, 72]
  for (let at = cut > 0 ? cut + 1 : 0; at < text.length;) {
    const before = i
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = digitOf(text.charCodeAt(at++))
      if (digit === null) return null
      i += digit * weight
      const threshold = Math.min(Math.max(k - bias, 1), 26)
      if (digit < threshold) break
      weight *= 36 - threshold
    }
    const length = output.length + 1
    bias = adapt(i - before, length, before === 0)
    n += Math.floor(i / length)
    i %= length
    if (n > 0x10ffff) return null
    output.splice(i++, 0, n)
  }
  return String.fromCodePoint(...output)
}

function digitOf(code: number): number | null {
  if (code >= 48 && code <= 57) return code - 22
  if (code >= 97 && code <= 122) return code - 97
  return null
}

function adapt(delta: number, length: number, first: boolean): number {
  let left = Math.floor(delta / (first ? 700 : 2))
  left += Math.floor(left / length)
  let k = 0
  for (; left > 455; k += 36) left = Math.floor(left / 35)
  return k + Math.floor((36 * left) / (left + 38))
}

/** Scripts in common use (UAX #31, table 5), and the combinations that form one writing system. */
const SCRIPTS = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Armenian',
  'Georgian',
  'Hebrew',
  'Arabic',
  'Ethiopic',
  'Thaana',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Thai',
  'Lao',
  'Tibetan',
  'Myanmar',
  'Khmer',
].map((script) => [script])
const TOGETHER = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
]
const ONE_SCRIPT = [...SCRIPTS, ...TOGETHER].map(
  (scripts) => new RegExp(`^(?:[0-9-]|${scripts.map((one) => `\\p{scx=${one}}`).join('|')})+$`, 'u'),
)

/**
 * Cyrillic and Greek letters that look like Latin ones. A label with only such letters can be mistaken for a Latin one.
 */
const LOOKALIKES = /^[0-9\-асԁеһіјӏорԛѕԝхуүъьҽпгѵѡαγικνορυω]+$/u

/** Whether no reader would confuse the label with another one. */
function isPlain(label: string, asciiTop: boolean): boolean {
  return ONE_SCRIPT.some((script) => script.test(label)) && !(asciiTop && LOOKALIKES.test(label))
}

/** Whether the Unicode label is a valid, normalized, lower-case form of the A-label (UTS #46). */
function isFaithful(unicode: string, label: string): boolean {
  try {
    return new URL(`http://${unicode}.test`).hostname === `${label}.test`
  } catch {
    return false // It cannot be a part of a host name.
  }
}

/** Converts a domain's labels to Unicode when that is safe to read. */
function unicodeDomain(domain: string): string {
  const labels = domain.toLowerCase().split('.')
  const asciiTop = labels.at(-1)?.startsWith('xn--') === false
  return labels
    .map((label) => {
      if (!label.startsWith('xn--')) return label
      const unicode = decode(label.slice(4))
      return unicode !== null && isFaithful(unicode, label) && isPlain(unicode, asciiTop) ? unicode : label
    })
    .join('.')
}

/** A name with an A-label, anywhere in a text. */
const NAME = /(?:[\p{L}\p{N}_-]+\.)*xn--[a-z0-9-]+(?:\.[\p{L}\p{N}_-]+)*/giu

/** Converts the domains in a text, an address or a domain to Unicode. Domains without A-labels stay unchanged. */
export const toUnicodeDomains = (text: string): string => text.replaceAll(NAME, unicodeDomain)
