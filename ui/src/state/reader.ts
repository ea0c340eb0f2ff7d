/** Renders an email for a contact. Pure. */
import type { Contact } from '../../../appliance/api/contacts.ts'
import type { ContactPropertySummary } from '../../../appliance/api/contact-properties.ts'
import {
  createContactValues,
  type MergeKind,
  type MergeValues,
  parseMerge,
  renderMerge,
} from '../../../appliance/merge/merge.ts'

type Person = Pick<Contact, 'email' | 'first_name' | 'last_name' | 'properties'>

/** Sample contact, used if none is selected. */
const SOMEBODY: Person = {
  email: 'ada@example.com',
  first_name: 'Ada',
  last_name: 'Lovelace',
  properties: {},
}
const NOTHING = { text: null, fallback: null, raw: false }

/**
 * Returns the merge values of a contact.
 * @param contact null for the sample contact
 */
export function getContactMergeValues(
  contact: Person | null,
  properties: readonly Pick<ContactPropertySummary, 'key' | 'fallback_value'>[],
): MergeValues {
  const { email, first_name: firstName, last_name: lastName, properties: own } = contact ?? SOMEBODY
  const given = Object.entries(own).flatMap(([key, { value }]) =>
    typeof value === 'string' || typeof value === 'number' ? [[key, value] as const] : [],
  )
  const known = properties.map(({ key, fallback_value: fallback }) => ({ key, fallback }))
  const values = createContactValues(
    { email, firstName, lastName, properties: Object.fromEntries(given) },
    known,
    '#unsubscribe',
  )
  return (key) => values(key) ?? NOTHING
}

/** Fills the merge tags of a source. Returns a source with a syntax error unchanged; saving reports the error. */
export function renderMergeTags(kind: MergeKind, source: string, values: MergeValues): string {
  try {
    return renderMerge(parseMerge(kind, source, kind), values)
  } catch {
    // The source can't be parsed yet.
    return source
  }
}
