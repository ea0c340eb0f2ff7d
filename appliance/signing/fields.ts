import type { HeaderField } from './canonical.ts'

/**
 * Named once more often than they occur (RFC 6376 §5.4.2, §8.15), present or not: nobody on the way can add a second
 * Subject or From, which readers might show, without breaking the signature.
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
 * Signed where they occur: threading and list fields of RFC 6376 §5.4.1, one-click unsubscription, which counts only
 * when it is signed (RFC 8058 §4), and the feedback id of mailbox providers. A mailing list may add its own.
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

/** What a signature covers: the names for `h=`, and the fields in the order in which they are hashed. */
export interface Coverage {
  names: string[]
  fields: HeaderField[]
}

/**
 * Chooses what is signed. Fields that occur several times are taken from the bottom up (RFC 6376 §5.4.2); a name
 * without a field left stands for the absence of one, and adds nothing to the hash.
 */
export function coverage(fields: HeaderField[]): Coverage {
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
