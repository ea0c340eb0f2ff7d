/**
 * The content that a broadcast sends, frozen when it starts. Later changes to the draft, a domain or a property don't
 * affect its emails. Pure.
 */
import { type Mailbox, parseMailbox } from '../mail/address.ts'
import type { BroadcastContent } from '../mail/broadcast.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import {
  ARCHIVE_KEY,
  createContactValues,
  LINK_KEYS,
  type MergeProperty,
  type MergeSource,
  type MergeValues,
  parseMerge,
  renderMerge,
  listTags,
} from '../merge/merge.ts'
import type { ContactProperty } from '../storage/storage.ts'

/** A revision as it is stored. */
export interface Revision extends Omit<BroadcastContent, 'previewText' | 'abTest'> {
  domainId: string
  /** Domain of the return path. */
  returnPathHost: string
  /** Origin of links; null if there is no public one. */
  origin: string | null
  tracking: { opens: boolean; clicks: boolean }
  /** Its page in the public archive. Null, or absent in old revisions: it had none. */
  archiveUrl?: string | null
  /** Tracked links by number. Absent in old revisions, whose tokens contain the address. */
  links?: string[]
  /** The pool of sending IPs. */
  pool: string
  apiKeyId: string | null
  topicId: string | null
  /** The topic or segment, for List-Id (RFC 2919). */
  list: { id: string; name: string }
  /** The contact properties of the team. `label`: the name under which values are stored. */
  properties: (MergeProperty & { label: string })[]
}

/** A revision that is ready to render. */
export interface ParsedRevision extends Revision {
  sender: Mailbox
  replies: Mailbox[]
  /** Link numbers by address; undefined for old revisions. */
  numbers: ReadonlyMap<string, number> | undefined
  parsed: { subject: MergeSource; html: MergeSource | null; text: MergeSource | null }
  /** Keys of the revision's merge tags. */
  keys: ReadonlySet<string>
  /** Whether the subject contains the unsubscribe link. */
  linkInSubject: boolean
}

/** Data of a contact that an email needs; only fields that a merge tag names. */
export interface RecipientData {
  contactId: string
  email: string
  firstName: string | null
  lastName: string | null
  /** Property values by key. */
  properties: Record<string, string | number>
}

/** Parses a stored revision. */
export function parseRevision(revision: Revision): ParsedRevision {
  const { subject, html, text } = parseContent(revision)
  const parsed = { subject, html, text }
  const sources = [subject, html, text].filter((source) => source !== null)
  return {
    ...revision,
    sender: parseMailboxField('from', revision.from),
    replies: revision.replyTo.map((one) => parseMailboxField('reply_to', one)),
    parsed,
    numbers: revision.links && new Map(revision.links.map((link, n) => [link, n])),
    keys: new Set(listTags(...sources).map(({ key }) => key)),
    linkInSubject: listTags(subject).some(({ key }) => LINK_KEYS.has(key)),
  }
}

/**
 * Parses the subject and bodies. Refuses: `merge_tag`, `invalid_field`.
 * @param at where the content is in a request
 */
export function parseContent(
  { subject, html, text }: Pick<BroadcastContent, 'subject' | 'html' | 'text'>,
  at = '',
) {
  return {
    subject: parseMerge('header', subject, `${at}subject`),
    html: html === null || html === '' ? null : parseMerge('html', html, `${at}html`),
    text: text === null || text === '' ? null : parseMerge('text', text, `${at}text`),
  }
}

/** Parses a mailbox. Refuses: `invalid_address`. */
export function parseMailboxField(field: string, text: string): Mailbox {
  const mailbox = parseMailbox(text)
  if (!mailbox) throw refuse('invalid_address', { field })
  return mailbox
}

/** Puts the preview text, which mail clients list after the subject, hidden at the start of the body. */
export function addPreviewText(html: string, previewText: string | null): string {
  if (previewText === null || previewText.trim() === '') return html
  const text = previewText.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const hidden = `<div style="display:none;max-height:0;overflow:hidden;opacity:0">${text}</div>`
  const body = /<body\b[^>]*>/i.exec(html)
  const at = body ? body.index + body[0].length : 0
  return html.slice(0, at) + hidden + html.slice(at)
}

/** Extracts the data that the email needs from a contact. */
export function toRecipientData(
  { keys, properties }: Pick<ParsedRevision, 'keys' | 'properties'>,
  contactId: string,
  contact: {
    email: string
    firstName: string | null
    lastName: string | null
    properties: Record<string, string | number>
  },
): RecipientData {
  const uses = (...names: string[]): boolean => names.some((name) => keys.has(name))
  const known = properties.flatMap(({ key, label }): [string, string | number][] => {
    const value = contact.properties[label]
    const used = uses(key, `contact.${key}`, `contact.properties.${key}`)
    return value === undefined || !used ? [] : [[key, value]]
  })
  return {
    contactId,
    email: contact.email,
    firstName: uses('FIRST_NAME', 'contact.first_name') ? contact.firstName : null,
    lastName: uses('LAST_NAME', 'contact.last_name') ? contact.lastName : null,
    properties: Object.fromEntries(known),
  }
}

/** The URLs that replace link tags; null for a link that does not exist. */
export interface MergeLinks {
  unsubscribe: string | null
  /** The page in the public archive. */
  archive: string | null | undefined
}

/** Returns the values for a recipient. A tag without a value becomes empty, so that no recipient sees a tag. */
export function computeMergeValues(
  reader: RecipientData,
  properties: readonly MergeProperty[],
  { unsubscribe, archive = null }: MergeLinks,
): MergeValues {
  const values = createContactValues(reader, properties, unsubscribe)
  const none = { text: null, fallback: null, raw: false }
  return (key) => (key === ARCHIVE_KEY ? { ...none, text: archive } : (values(key) ?? none))
}

/**
 * Renders the subject for a recipient. A value that makes it too long is omitted: one name must not stop all other
 * emails.
 */
export function renderSubject({ parsed }: Pick<ParsedRevision, 'parsed'>, values: MergeValues): string {
  try {
    return renderMerge(parsed.subject, values)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return renderMerge(parsed.subject, () => ({ text: null, fallback: null, raw: false }))
  }
}

/** Converts the contact properties of a team for a revision. */
export const toMergeProperties = (properties: readonly ContactProperty[]): Revision['properties'] =>
  properties.map(({ key, label, fallback }) => ({ key, label, fallback }))
