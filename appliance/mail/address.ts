import { MAX_DOMAIN, parseDomain } from './domain.ts'

/**
 * Mail addresses as people and apps write them: `a@b`, `Name <a@b>`, `"Quoted, Name" <a@b>` (RFC 5322 §3.4), in
 * Unicode (RFC 6532) rather than in encoded words. Names need no quotes: in `Acme, Inc. <a@b>` and `Bob (Sales) <a@b>`
 * all text before the last `<` is the name. One text is one mailbox; anything that could be a list, a route or a second
 * address is refused, and so are comments in the address itself.
 */

/** One mailbox. `address` is what goes into the envelope. */
export interface Mailbox {
  /** Display name, Unicode, unquoted; empty when there is none. */
  name: string
  /** Local part in its shortest wire form: a dot-atom, or a quoted string where it must be (RFC 5321 §4.1.2). */
  local: string
  /** A-labels, lower case. */
  domain: string
  /** `local@domain` */
  address: string
}

/** RFC 5321 §4.5.3.1.1, in octets. */
const MAX_LOCAL = 64
/** A path has 256 octets with its angle brackets (RFC 5321 §4.5.3.1.3). */
const MAX_ADDRESS = 254
/** Ours: keeps header lines foldable and lists readable. In UTF-16 units. */
const MAX_NAME = 320

/** Longest text that is looked at: a name with each character escaped, an address in angle brackets. */
const MAX_TEXT = 2 * MAX_NAME + 4 * MAX_ADDRESS + MAX_DOMAIN

/** Controls, line and paragraph separators, lone surrogates: nothing that a header field could show. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u
/** Beside those, in a local part: any non-ASCII space, invisible or unassigned character, which only ever deceives. */
const invisible = /[\p{C}\p{Zs}]/u

/** `atext` of RFC 5322 §3.2.3 with the additions of RFC 6532 §3.2. */
const dotAtom = /^[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10FFFF}]+(?:\.[\w!#$%&'*+\-/=?^`{|}~\u0080-\u{10FFFF}]+)*$/u
const quotedString = /^"((?:[^"\\]|\\.)*)"$/u
/**
 * An unquoted name with a second reading: brackets, an address, an `@` among separators as in a list, or a quoted string
 * that doesn't reach to the end. Dropping the other recipients of a list without a word would lose mail.
 */
const ambiguous = /[<>]|[^ ,;]@[^ ,;]|[,;].*@|@.*[,;]|^"/u
const plainName = /^[\w !#$%&'*+\-/=?^`{|}~.\u0080-\u{10FFFF}]+$/u

/** Reads one mailbox, with or without a name; undefined when it is not one. */
export function parseMailbox(text: string): Mailbox | undefined {
  if (text.length > MAX_TEXT || unprintable.test(text)) return undefined
  const trimmed = trimSpaces(text)
  if (!trimmed.endsWith('>')) return parseAddress('', trimmed)
  const open = trimmed.lastIndexOf('<')
  if (open < 0) return undefined
  const name = parseName(trimSpaces(trimmed.slice(0, open)))
  return name === undefined ? undefined : parseAddress(name, trimSpaces(trimmed.slice(open + 1, -1)))
}

/** Writes a mailbox in Unicode, so that `parseMailbox` reads the same back. Not for header fields: those are encoded by the composer. */
export function formatMailbox({ name, address }: Pick<Mailbox, 'name' | 'address'>): string {
  if (name === '') return address
  return `${plainName.test(name) ? name : quote(name)} <${address}>`
}

/** Whether delivering to it, or showing it in a header, takes SMTPUTF8 (RFC 6531): the domain never does, it has A-labels. */
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

/** RFC 5321 §4.1.2: a quoted local part that needs no quotes means the same without them, and is kept so. */
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
/** Not `trim`, which would take Unicode spaces that belong to a name. */
const trimSpaces = (text: string) => text.replaceAll(/^ +| +$/g, '')

/** Addresses that show what can become of an email, without a server that it could go to (reference: wire format §7). Pure. */

/** What the test addresses show, which is what their local parts say. */
export const TEST_OUTCOMES = ['delivered', 'bounced', 'complained', 'suppressed'] as const
export type TestOutcome = (typeof TEST_OUTCOMES)[number]

/**
 * What a test address shows; a label after `+` changes nothing. `unknown`: an address at a test domain that is none of them. Null: not at a
 * test domain.
 * @param domains in lower case
 */
export function testOutcomeOf(address: string, domains: readonly string[]): TestOutcome | 'unknown' | null {
  const at = address.lastIndexOf('@')
  if (!domains.includes(address.slice(at + 1).toLowerCase())) return null
  const [name] = address.slice(0, at).toLowerCase().split('+', 1)
  return TEST_OUTCOMES.find((outcome) => outcome === name) ?? 'unknown'
}
