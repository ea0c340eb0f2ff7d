/**
 * Composes the emails of broadcasts on demand. Only the revision's id and the recipient's values are stored, not the
 * body. The result is always the same bytes, for a retry, the preview and a report.
 */
import type { PreferencesTokens } from '../audience/audience.ts'
import { PREFERENCES_PATH } from '../audience/audience.ts'
import type { Clock } from '../clock/clock.ts'
import { type Composer, buildFeedbackId, FEEDBACK_ID, buildUnsubscribeFields } from '../intake/intake.ts'
import { renderMerge } from '../merge/merge.ts'
import type { Storage } from '../storage/storage.ts'
import type { Tracking } from '../tracking/tracking.ts'
import {
  type ParsedRevision,
  parseRevision,
  type RecipientData,
  type Revision,
  renderSubject,
  computeMergeValues,
} from './revision.ts'

/** The record that is stored instead of a message. */
export interface MailRecord {
  /** Id of the revision. */
  revision: string
  broadcastId: string
  teamId: string
  /** Time in the message's Date field (Unix milliseconds). */
  date: number
  reader: RecipientData
}

/** The first byte of a record; no message begins with it. */
const MARK = 0

/** Encodes a record for storage. */
export const encodeRecord = (record: MailRecord): Uint8Array =>
  Buffer.concat([Buffer.from([MARK]), Buffer.from(JSON.stringify(record))])

/** Reports whether stored bytes are a record rather than a message. */
export const isRecord = (stored: Uint8Array): boolean => stored[0] === MARK

/** Decodes a record; undefined for a message. */
const readRecord = (stored: Uint8Array): MailRecord | undefined =>
  isRecord(stored)
    ? (JSON.parse(
        Buffer.from(stored.buffer, stored.byteOffset + 1, stored.byteLength - 1).toString('utf8'),
      ) as MailRecord)
    : undefined

export interface MailDeps {
  storage: Pick<Storage, 'getRevision'>
  composer: Composer
  tracking: Pick<Tracking, 'planWith'>
  tokens: Pick<PreferencesTokens, 'sign'>
  clock: Clock
}

export interface BroadcastMail {
  /** Returns the parsed revision from a cache; undefined if its broadcast was deleted. */
  revision(id: string): Promise<ParsedRevision | undefined>
  /**
   * Returns the message of an email: the stored bytes, or composed from a stored record. Undefined if its broadcast was
   * deleted.
   */
  messageOf(emailId: string, stored: Uint8Array): Promise<Uint8Array | undefined>
}

/** Maximum number of revisions in the cache. */
const MOST_REVISIONS = 20

export function createBroadcastMail(deps: MailDeps): BroadcastMail {
  const { storage, composer, clock } = deps
  const known = new Map<string, ParsedRevision>()
  const revision = async (id: string): Promise<ParsedRevision | undefined> => {
    const kept = known.get(id)
    if (kept) return kept
    const stored = await storage.getRevision({ id }, clock.now())
    if (stored === undefined) return undefined
    const parsed = parseRevision(JSON.parse(stored) as Revision)
    if (known.size >= MOST_REVISIONS) known.clear()
    known.set(id, parsed)
    return parsed
  }
  return {
    revision,
    async messageOf(emailId, stored) {
      const record = readRecord(stored)
      if (!record) return stored
      const found = await revision(record.revision)
      if (!found) return undefined
      const draft = draftOf(deps, emailId, record, found)
      return (await composer.compose(draft, record.teamId)).message
    },
  }
}

/** Returns the recipient's unsubscribe link; null if this server has no public origin for links. */
export function buildUnsubscribeLink(
  tokens: Pick<PreferencesTokens, 'sign'>,
  { origin, topicId }: Pick<Revision, 'origin' | 'topicId'>,
  { teamId, reader, emailId }: { teamId: string; reader: RecipientData; emailId: string | null },
): string | null {
  if (origin === null) return null
  const { contactId, email: address } = reader
  const target = { teamId, contactId, address, topicId, sourceId: emailId }
  return `${origin}${PREFERENCES_PATH}${tokens.sign(target)}`
}

function draftOf(
  { tracking, tokens }: MailDeps,
  emailId: string,
  { revision: revisionId, teamId, broadcastId, date, reader }: MailRecord,
  revision: ParsedRevision,
) {
  const { sender, replies, parsed, properties, origin } = revision
  const link = buildUnsubscribeLink(tokens, revision, { teamId, reader, emailId })
  const links = { unsubscribe: link, archive: revision.archiveUrl }
  const values = computeMergeValues(reader, properties, links)
  const headers = headersOf(revision, { teamId, broadcastId, link })
  const numbered = revision.numbers && { revisionId, numbers: revision.numbers }
  const plan =
    origin === null ? null : tracking.planWith({ ...revision.tracking, origin, numbered }, emailId, headers)
  return {
    from: sender,
    to: [{ name: '', ...addressOf(reader.email) }],
    cc: [],
    replyTo: replies,
    subject: renderSubject(revision, values),
    html: parsed.html && renderMerge(parsed.html, values),
    // Use an empty text instead of null, or the composer would convert the HTML to text again for each recipient.
    text: parsed.text ? renderMerge(parsed.text, values) : '',
    headers,
    attachments: [],
    messageId: buildMessageId(emailId, revision),
    date,
    tracking: plan,
    boundary: `=_${emailId}`,
  }
}

/** Returns the Message-ID with angle brackets. */
export const buildMessageId = (emailId: string, { sender }: Pick<ParsedRevision, 'sender'>): string =>
  `<${emailId}@${sender.domain}>`

function addressOf(address: string) {
  const at = address.lastIndexOf('@')
  return { address, local: address.slice(0, at), domain: address.slice(at + 1) }
}

/**
 * Builds the header fields for one-click unsubscribe (RFC 8058), List-Id (RFC 2919 §3) and complaint feedback. All are
 * signed.
 */
function headersOf(
  { list, sender }: ParsedRevision,
  { teamId, broadcastId, link }: { teamId: string; broadcastId: string; link: string | null },
): { name: string; value: string }[] {
  const name = list.name.replaceAll(/["\\\r\n]/g, ' ')
  return [
    ...(link === null ? [] : buildUnsubscribeFields(link)),
    { name: 'List-Id', value: `"${name}" <${list.id}.${sender.domain}>` },
    { name: FEEDBACK_ID, value: buildFeedbackId(broadcastId, teamId, 'broadcast') },
  ]
}
