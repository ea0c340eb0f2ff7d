/** Bulk changes of contacts, one transaction each, and bulk lookups of addresses. */
import type { ConsentContext, Subscription } from '../../mail/audience.ts'
import { toSuppressionKey } from '../../mail/suppression.ts'
import type { Db } from '../schema.ts'
import { applyChoices } from './choices.ts'
import { removeContact } from './contact-address.ts'
import { recordChoiceEvent } from './contact-events.ts'
import { findSuppressedAddresses } from './contact-list.ts'
import { findContactsByKey, getContact, type Contact } from './contact-rows.ts'
import { addToSegment, findMissingRef, type MissingRef, removeFromSegment } from './memberships.ts'
import { getKeptOptOuts } from './opt-outs.ts'
import { updateContact } from './contacts.ts'

/** The change to make to each contact. */
export type ContactBatchChange =
  | { kind: 'add_to_segment' | 'remove_from_segment'; segmentId: string }
  | { kind: 'choose'; topicId: string; subscription: Subscription }
  | { kind: 'unsubscribe' }
  | { kind: 'delete' }

interface ChangeArgs {
  teamId: string
  ids: string[]
  change: ContactBatchChange
  act: ConsentContext
}

/** Changes contacts as if each were changed alone. Skips deleted contacts. Returns the number of the others. */
async function changeContacts(
  db: Db,
  { teamId, ids, change, act }: ChangeArgs,
  now: number,
): Promise<{ found: number } | MissingRef> {
  const missing = await findMissingRef(db, teamId, {
    segmentIds: 'segmentId' in change ? [change.segmentId] : [],
    topics: 'topicId' in change ? [{ id: change.topicId }] : [],
  })
  if (missing) return missing
  let found = 0
  for (const id of ids) {
    const contact = await getContact(db, { teamId, ref: { id } })
    if (!contact) continue
    found += 1
    await changeOne(db, { contact, change, act }, now)
  }
  return { found }
}

interface OneArgs {
  contact: Contact
  change: ContactBatchChange
  act: ConsentContext
}

async function changeOne(db: Db, { contact, change, act }: OneArgs, now: number): Promise<void> {
  const { teamId, id } = contact
  const ref = { id }
  if (change.kind === 'delete') return removeContact(db, contact, now)
  if (change.kind === 'unsubscribe') {
    await updateContact(db, { teamId, ref, change: { unsubscribed: true }, act }, now)
    return
  }
  if (change.kind === 'choose') {
    const { topicId, subscription } = change
    const chosen = await applyChoices(db, contact, [{ id: topicId, subscription }], act, now)
    return recordChoiceEvent(db, contact, chosen, now)
  }
  const join = change.kind === 'add_to_segment' ? addToSegment : removeFromSegment
  await join(db, { teamId, ref, segmentId: change.segmentId }, now)
}

/** The status of an address. */
export interface AddressStatus {
  contactId: string | null
  /** Whether the person has opted out of everything, possibly as an earlier contact. */
  unsubscribed: boolean
  suppressed: boolean
}

/** Returns the status of each address, in the order given. */
async function knownAddresses(
  db: Db,
  { teamId, emails }: { teamId: string; emails: string[] },
): Promise<AddressStatus[]> {
  const keys = emails.map(toSuppressionKey)
  const contacts = await findContactsByKey(db, teamId, keys)
  const suppressed = await findSuppressedAddresses(db, teamId, keys)
  const known: AddressStatus[] = []
  for (const [at, key] of keys.entries()) {
    const contact = contacts.get(key)
    const earlier = contact ? undefined : await getKeptOptOuts(db, teamId, emails[at]!)
    known.push({
      contactId: contact?.id ?? null,
      unsubscribed: Boolean(contact?.optOut ?? earlier?.ofAll),
      suppressed: suppressed.has(key),
    })
  }
  return known
}

export const methods = {
  reads: { knownAddresses },
  writes: { changeContacts },
}
