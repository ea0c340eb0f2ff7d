/** The values that a contact gives to tags: names, the address, the team's own properties and the unsubscribe link. Pure. */
import type { MergeValue, MergeValues } from './source.ts'

/** A field that a team adds to its contacts, as tags need it. */
export interface MergeProperty {
  key: string
  /** The fallback of the property; null: none. */
  fallback: string | number | null
}

/** What tags can say about the reader of an email. */
export interface MergeContact {
  email: string
  firstName: string | null
  lastName: string | null
  /** Values by key. */
  properties: Readonly<Record<string, string | number>>
}

/** Names of the fields that every contact has, in both spellings. */
const FIELDS = {
  FIRST_NAME: 'firstName',
  'contact.first_name': 'firstName',
  LAST_NAME: 'lastName',
  'contact.last_name': 'lastName',
  EMAIL: 'email',
  'contact.email': 'email',
} as const

const LINKS = new Set(['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL'])

const stranger = (text: string | null, fallback: string | null = null): MergeValue => ({
  text: text === '' ? null : text,
  fallback,
  raw: false,
})

/**
 * The values of a contact. They come from strangers, through forms and files, so they are escaped where they go.
 * @param known the properties of the team; the value of any other is unknown
 * @param unsubscribeUrl null: there is no link, and a tag for it is refused
 */
export function contactValues(
  contact: MergeContact,
  known: readonly MergeProperty[],
  unsubscribeUrl: string | null,
): MergeValues {
  const properties = new Map(known.map((property) => [property.key, property]))
  return (key) => {
    if (LINKS.has(key)) return unsubscribeUrl === null ? undefined : stranger(unsubscribeUrl)
    if (Object.hasOwn(FIELDS, key)) return stranger(contact[FIELDS[key as keyof typeof FIELDS]])
    const property = properties.get(key.replace(/^contact\.(?:properties\.)?/, ''))
    if (!property) return undefined
    const value = Object.hasOwn(contact.properties, property.key) ? contact.properties[property.key] : null
    const { fallback } = property
    return stranger(value?.toString() ?? null, fallback?.toString() ?? null)
  }
}
