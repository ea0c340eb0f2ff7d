/** Parses the mailboxes in an address field of a message received as bytes (RFC 5322 §3.4). Pure. */
import { decodeWords } from './parser.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'

/** Maximum nesting of comments; deeper nesting only occurs in attacks. */
const MAX_NESTING = 10
/** Maximum number of comments in a field with one address. */
const MAX_COMMENTS = 10

/** A comment in an address field, and its position. */
interface Comment {
  text: string
  /** The text of its entry before and after the comment. */
  before: string
  after: string
  /** Whether it is between angle brackets. */
  angle: boolean
}

/** A parsed address field. */
interface Entries {
  /** The entries, without comments. */
  entries: string[]
  comments: Comment[]
}

/**
 * Splits an address list into its entries. Commas, semicolons and group names count only outside quotes, comments and
 * angle brackets. Undefined when these aren't balanced, because two parsers could then see two different lists.
 */
function splitEntries(value: string): Entries | undefined {
  const entries: string[] = []
  const comments: Comment[] = []
  let open: Comment[] = []
  let entry = ''
  let quoted = false
  let angle = false
  let depth = 0
  const finish = () => {
    for (const comment of open) comment.after = entry.slice(comment.before.length)
    open = []
    entries.push(entry)
    entry = ''
  }
  for (let at = 0; at < value.length; at++) {
    const char = value[at]!
    if (depth > 0) open.at(-1)!.text += char
    if ((quoted || depth > 0) && char === '\\') {
      if (depth === 0) entry += value.slice(at, at + 2)
      at++
    } else if (depth > 0) {
      if (char === '(' && ++depth > MAX_NESTING) return undefined
      if (char === ')') depth--
    } else if (quoted || char === '"') {
      entry += char
      if (char === '"') quoted = !quoted
    } else if (char === '(') {
      depth++
      open.push({ text: '', before: entry, after: '', angle })
      comments.push(open.at(-1)!)
    } else if (char === '<' || char === '>') {
      if (angle === (char === '<')) return undefined
      angle = char === '<'
      entry += char
    } else if (!angle && (char === ',' || char === ';')) finish()
    else if (!angle && char === ':') entry = ''
    else entry += char
  }
  if (quoted || angle || depth > 0) return undefined
  finish()
  return { entries: entries.map((text) => text.trim()).filter((text) => text !== ''), comments }
}

/** Parses one entry as a mailbox and decodes its name (RFC 2047); undefined when it isn't one. */
function readEntry(entry: string): Mailbox | undefined {
  const open = entry.lastIndexOf('<')
  if (open < 0) return parseMailbox(entry)
  const mailbox = parseMailbox(entry.slice(open))
  if (!mailbox || !entry.endsWith('>')) return undefined
  return { ...mailbox, name: displayName(entry.slice(0, open)) }
}

/** Cleans a name for display: removes characters that can't be shown instead of refusing the address. */
function displayName(text: string): string {
  const unquoted = text
    .trim()
    .replace(/^"((?:[^"\\]|\\.)*)"$/s, (_, inner: string) => inner.replaceAll(/\\(.)/gs, '$1'))
  return decodeWords(unquoted)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    .trim()
    .slice(0, 320)
    .toWellFormed()
}

/**
 * Reads the only mailbox of a field such as From, whose domain must be authorized. Undefined for none, for several, and
 * for anything in which another parser could see a different address.
 */
export function parseSingleMailbox(value: string): Mailbox | undefined {
  const { entries = [], comments = [] } = splitEntries(value) ?? {}
  if (entries.length !== 1 || /^[^"<]*:/.test(value)) return undefined
  if (comments.length > MAX_COMMENTS || comments.some(deceives)) return undefined
  const entry = entries[0]!
  // The name may contain an address, as mailing lists write it, but only one pair of brackets is allowed.
  return entry.split('<').length > 2 && !entry.startsWith('"') ? undefined : readEntry(entry)
}

/**
 * Whether another parser could take a comment for (part of) the address: a comment within the address, or one with
 * angle brackets. `root@example.com (Cron Daemon)` and `Bob (Sales) <bob@example.com>` are fine.
 */
function deceives({ text, before, after, angle }: Comment): boolean {
  const isBare = !/[<>]/.test(before + after)
  return angle || /[<>]/.test(text) || (isBare && before.trim() !== '' && after.trim() !== '')
}

/**
 * Reads the mailboxes of fields such as To for display. Skips what can't be parsed: the envelope decides who gets the
 * message.
 */
export function parseMailboxList(values: readonly string[], most: number): Mailbox[] {
  const found: Mailbox[] = []
  for (const entry of values.flatMap((value) => splitEntries(value)?.entries ?? [])) {
    const mailbox = readEntry(entry)
    if (mailbox) found.push(mailbox)
    if (found.length >= most) break
  }
  return found
}
