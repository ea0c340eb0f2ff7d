/** How an email reads for somebody. Pure. */
import type { Contact } from '../../../appliance/api/contacts.ts'
import type { ContactPropertySummary } from '../../../appliance/api/contact-properties.ts'
import {
  contactValues,
  type MergeKind,
  type MergeValues,
  parseMerge,
  renderMerge,
} from '../../../appliance/merge/merge.ts'

type Person = Pick<Contact, 'email' | 'first_name' | 'last_name' | 'properties'>

/** Shown where nobody is chosen. */
const SOMEBODY: Person = {
  ...{ email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace', properties: {} },
}
const NOTHING = { text: null, fallback: null, raw: false }

/** What tags say to a contact. @param contact null: a made-up one */
export function valuesOf(
  contact: Person | null,
  properties: readonly Pick<ContactPropertySummary, 'key' | 'fallback_value'>[],
): MergeValues {
  const { email, first_name: firstName, last_name: lastName, properties: own } = contact ?? SOMEBODY
  const given = Object.entries(own).flatMap(([key, { value }]) =>
    typeof value === 'string' || typeof value === 'number' ? [[key, value] as const] : [],
  )
  const known = properties.map(({ key, fallback_value: fallback }) => ({ key, fallback }))
  const values = contactValues(
    { email, firstName, lastName, properties: Object.fromEntries(given) },
    known,
    '#unsubscribe',
  )
  return (key) => values(key) ?? NOTHING
}

/** A source for a reader. One with an incomplete tag is shown as it is: saving it says what is wrong. */
export function readAs(kind: MergeKind, source: string, values: MergeValues): string {
  try {
    return renderMerge(parseMerge(kind, source, kind), values)
  } catch {
    // The source can't be parsed yet.
    return source
  }
}
