import { MAX_DOMAIN_LENGTH, parseDomain } from './domain.ts'

/**
 * Parses mail addresses as people and apps write them: `a@b`, `Name <a@b>`, `"Quoted, Name" <a@b>` (RFC 5322 §3.4), in
 * Unicode (RFC 6532) instead of encoded words. Names need no quotes: in `Acme, Inc. <a@b>` and `Bob (Sales) <a@b>`,
 * everything before the last `<` is the name. The text must be a single mailbox: anything that could be a list, a route
 * or a second address is refused, as are comments in the address itself.
 */

/** One mailbox. `address` is what goes into the envelope. */
export interface Mailbox {
  /** Display name, Unicode, unquoted; empty when there is none. */
  name: string
  /** Local part in its shortest form: a dot-atom, or a quoted string if necessary (RFC 5321 §4.1.2). */
  local: string
  /** A-labels, lower case. */
  domain: string
  /** `local@domain` */
  address: string
}

/** Maximum length of a local part in octets (RFC 5321 §4.5.3.1.1). */
const MAX_LOCAL = 64
/** Maximum length of an address: a path has 256 octets with its angle brackets (RFC 5321 §4.5.3.1.3). */
const MAX_ADDRESS = 254
/** Maximum length of a name in UTF-16 units. Our own limit; it keeps header lines foldable and lists readable. */
const MAX_NAME = 320

/** Maximum length of a text to parse: a name with every character escaped, and an address in angle brackets. */
const MAX_TEXT = 2 * MAX_NAME + 4 * MAX_ADDRESS + MAX_DOMAIN_LENGTH

/** Control characters, line and paragraph separators, and lone surrogates, which a header field can't show. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u
/**
 * Characters that are also forbidden in a local part: non-ASCII spaces, and invisible and unassigned characters, which
 * only serve to deceive.
 */
const invisible = /[\p{C}\p{Zs}]/u

/** `atext` (RFC 5322 §3.2.3) with the additions of RFC 6532 §3.2. */
const dotAtom = /^[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10FFFF}]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10FFFF}]+)*$/u
const quotedString = /^"((?:[^"\\]|\\.)*)"$/u
/**
 * An unquoted name that can be read in two ways: with brackets, an address, an `@` among separators as in a list, or a
 * quoted string that doesn't reach the end. Silently dropping the other recipients of a list would lose mail.
 */
const ambiguous = /[<>]|[^ ,;]@[^ ,;]|[,;].*@|@.*[,;]|^"/u
const plainName = /^[\w !#$%&'*+\-/=?^`{|}~.\u0080-\u{10FFFF}]+$/u

/** Parses one mailbox, with or without a name; undefined when it isn't one. */
export function parseMailbox(text: string): Mailbox | undefined {
  if (text.length > MAX_TEXT || unprintable.test(text)) return undefined
  const trimmed = trimSpaces(text)
  if (!trimmed.endsWith('>')) return parseAddress('', trimmed)
  const open = trimmed.lastIndexOf('<')
  if (open < 0) return undefined
  const name = parseName(trimSpaces(trimmed.slice(0, open)))
  return name === undefined ? undefined : parseAddress(name, trimSpaces(trimmed.slice(open + 1, -1)))
}

/**
 * Formats a mailbox in Unicode so that `parseMailbox` reads it back. Not for header fields, which the composer encodes.
 */
export function formatMailbox({ name, address }: Pick<Mailbox, 'name' | 'address'>): string {
  if (name === '') return address
  return `${plainName.test(name) ? name : quote(name)} <${address}>`
}

/**
 * Whether the address needs SMTPUTF8 in the envelope or a header (RFC 6531). Only the local part matters: domains are
 * A-labels.
 */
export function needsSmtpUtf8(mailbox: Pick<Mailbox, 'local'>): boolean {
  return /[\u0080-\u{10FFFF}]/u.test(mailbox.local)
}

function parseName(text: string): string | undefined {
  const quoted = quotedString.exec(text)
  if (!quoted && ambiguous.test(text)) return undefined
  const name = trimSpaces(quoted ? unescape(quoted[1]!) : text).replaceAll(/ {2,}/g, ' ')
  return name.length > MAX_NAME ? undefined : name
}

function parseAddress(name: string, text: string): Mailbox | undefined {
  const at = text.lastIndexOf('@')
  if (at < 1) return undefined
  const local = parseLocal(text.slice(0, at))
  const domain = parseDomain(text.slice(at + 1))
  if (local === undefined || domain === undefined) return undefined
  const address = `${local}@${domain}`
  return Buffer.byteLength(address) > MAX_ADDRESS ? undefined : { name, local, domain, address }
}

/**
 * Parses a local part. A quoted one that needs no quotes is stored without them, because both are the same (RFC 5321
 * §4.1.2).
 */
function parseLocal(text: string): string | undefined {
  const quoted = quotedString.exec(text)
  const content = quoted ? unescape(quoted[1]!) : text
  if (content === '' || invisible.test(content.replaceAll(' ', ''))) return undefined
  const atom = dotAtom.test(content)
  if (!atom && !quoted) return undefined
  const local = atom ? content : quote(content)
  return Buffer.byteLength(local) > MAX_LOCAL ? undefined : local
}

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
const unescape = (text: string) => text.replaceAll(/\\(.)/gu, '$1')
/** Trims ASCII spaces only; `trim` would also remove Unicode spaces that belong to a name. */
const trimSpaces = (text: string) => text.replaceAll(/^ +| +$/g, '')

/** Test addresses, which produce each outcome without a receiving server (reference: wire format §7). Pure. */

/** The outcomes, which are the local parts of the test addresses. */
export const TEST_OUTCOMES = ['delivered', 'bounced', 'complained', 'suppressed'] as const
export type TestOutcome = (typeof TEST_OUTCOMES)[number]

/**
 * Returns the outcome of a test address, ignoring a `+` label; `unknown` for another address at a test domain, null for
 * an address at another domain.
 * @param domains in lower case
 */
export function getTestOutcome(address: string, domains: readonly string[]): TestOutcome | 'unknown' | null {
  const at = address.lastIndexOf('@')
  if (!domains.includes(address.slice(at + 1).toLowerCase())) return null
  const [name] = address.slice(0, at).toLowerCase().split('+', 1)
  return TEST_OUTCOMES.find((outcome) => outcome === name) ?? 'unknown'
}
