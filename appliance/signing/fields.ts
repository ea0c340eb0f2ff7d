import type { HeaderField } from './canonical.ts'

/**
 * Fields listed in `h=` once more than they occur, even when absent (RFC 6376 §5.4.2, §8.15). Nobody can then add a
 * second Subject or From, which a client might show, without breaking the signature.
 */
const OVERSIGNED = [
  'from',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
]

/**
 * Fields signed when present: threading and list fields (RFC 6376 §5.4.1), one-click unsubscribe, which must be signed
 * (RFC 8058 §4), and the feedback id of mailbox providers. Mailing lists may add their own.
 */
const SIGNED = [
  'sender',
  'in-reply-to',
  'references',
  'resent-date',
  'resent-from',
  'resent-to',
  'resent-cc',
  'resent-message-id',
  'content-disposition',
  'content-id',
  'content-description',
  'content-language',
  'list-id',
  'list-help',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-subscribe',
  'list-post',
  'list-owner',
  'list-archive',
  'feedback-id',
  'auto-submitted',
  'precedence',
]

/**
 * What a signature covers: the names for `h=`, and the fields in the order in which they are hashed (RFC 6376 §3.7).
 */
export interface Coverage {
  names: string[]
  fields: HeaderField[]
}

/**
 * Chooses what to sign. Repeated fields are taken from the bottom up (RFC 6376 §5.4.2). A name with no field left
 * asserts that there is none, and adds nothing to the hash.
 */
export function chooseCoverage(fields: HeaderField[]): Coverage {
  const found = Map.groupBy(fields, (field) => field.name)
  const chosen: Coverage = { names: [], fields: [] }
  for (const name of [...OVERSIGNED, ...SIGNED]) {
    const upwards = (found.get(name) ?? []).toReversed()
    chosen.names.push(...upwards.map(() => name))
    chosen.fields.push(...upwards)
    if (OVERSIGNED.includes(name)) chosen.names.push(name)
  }
  return chosen
}
