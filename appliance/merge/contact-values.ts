/** Merge values of a contact: names, the address, the team's own properties and the unsubscribe link. Pure. */
import type { MergeValue, MergeValues } from './source.ts'

/** A contact property, as needed for tags. */
export interface MergeProperty {
  key: string
  /** The fallback of the property; null if there is none. */
  fallback: string | number | null
}

/** The data of a contact that tags can use. */
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

/** Keys of the unsubscribe link. */
export const LINK_KEYS: ReadonlySet<string> = new Set(['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL'])

/** Key of the link to a broadcast's page in the team's public archive. */
export const ARCHIVE_KEY = 'POSTHASTE_ARCHIVE_URL'

const stranger = (text: string | null, fallback: string | null = null): MergeValue => ({
  text: text === '' ? null : text,
  fallback,
  raw: false,
})

/**
 * Returns the values of a contact. They come from strangers, through forms and files, so they are escaped when merged.
 * @param known the properties of the team; any other is an unknown key
 * @param unsubscribeUrl null if there is no link; a tag for it is then refused
 */
export function createContactValues(
  contact: MergeContact,
  known: readonly MergeProperty[],
  unsubscribeUrl: string | null,
): MergeValues {
  const properties = new Map(known.map((property) => [property.key, property]))
  return (key) => {
    if (LINK_KEYS.has(key)) return unsubscribeUrl === null ? undefined : stranger(unsubscribeUrl)
    if (Object.hasOwn(FIELDS, key)) return stranger(contact[FIELDS[key as keyof typeof FIELDS]])
    const property = properties.get(key.replace(/^contact\.(?:properties\.)?/, ''))
    if (!property) return undefined
    const value = Object.hasOwn(contact.properties, property.key) ? contact.properties[property.key] : null
    const { fallback } = property
    return stranger(value?.toString() ?? null, fallback?.toString() ?? null)
  }
}
