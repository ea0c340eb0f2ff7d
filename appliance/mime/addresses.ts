/** The mailboxes in an address field of a message that arrived as bytes (RFC 5322 §3.4). Pure. */
import { decodeWords } from './parser.ts'
import { parseMailbox, type Mailbox } from '../mail/address.ts'

/** Nested deeper, a comment is no comment but an attempt. */
const MAX_NESTING = 10
/** Comments in a field with one address. */
const MAX_COMMENTS = 10

/** A comment of an address field, and where it stands. */
interface Comment {
  text: string
  /** What of its entry stands before it, and after it. */
  before: string
  after: string
  /** Whether it is between angle brackets. */
  angle: boolean
}

/** An address field taken apart. */
interface Entries {
  /** Without their comments. */
  entries: string[]
  comments: Comment[]
}

/**
 * Cuts an address list into its entries: commas, semicolons and group names count only outside of quotes, comments and
 * angle brackets. Undefined for what is not balanced: two readers could see two lists in it.
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

/** One entry as a mailbox, its name decoded (RFC 2047); undefined when it is none. */
function readEntry(entry: string): Mailbox | undefined {
  const open = entry.lastIndexOf('<')
  if (open < 0) return parseMailbox(entry)
  const mailbox = parseMailbox(entry.slice(open))
  if (!mailbox || !entry.endsWith('>')) return undefined
  return { ...mailbox, name: displayName(entry.slice(0, open)) }
}

/** Names are for people's eyes: what cannot be shown is left out, not refused. */
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
 * The only mailbox of a field such as From, whose domain has to be authorised; undefined when it is none, more than one,
 * or anything in which another reader could see another address.
 */
export function readOnlyMailbox(value: string): Mailbox | undefined {
  const { entries = [], comments = [] } = splitEntries(value) ?? {}
  if (entries.length !== 1 || /^[^"<]*:/.test(value)) return undefined
  if (comments.length > MAX_COMMENTS || comments.some(deceives)) return undefined
  const entry = entries[0]!
  // The name may hold an address, as mailing lists write it, but only one pair of brackets counts.
  return entry.split('<').length > 2 && !entry.startsWith('"') ? undefined : readEntry(entry)
}

/**
 * Whether another reader could take a comment for a part of the address, or for the address: one within it, or one that
 * holds angle brackets. `root@example.com (Cron Daemon)` and `Bob (Sales) <bob@example.com>` are fine.
 */
function deceives({ text, before, after, angle }: Comment): boolean {
  const isBare = !/[<>]/.test(before + after)
  return angle || /[<>]/.test(text) || (isBare && before.trim() !== '' && after.trim() !== '')
}

/** The mailboxes of fields such as To, for showing. What cannot be read is left out: the envelope decides who gets it. */
export function readMailboxList(values: readonly string[], most: number): Mailbox[] {
  const found: Mailbox[] = []
  for (const entry of values.flatMap((value) => splitEntries(value)?.entries ?? [])) {
    const mailbox = readEntry(entry)
    if (mailbox) found.push(mailbox)
    if (found.length >= most) break
  }
  return found
}
