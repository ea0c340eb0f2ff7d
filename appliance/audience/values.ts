/**
 * Validates contact data in requests, and translates property keys to the labels that values are stored under. Pure.
 */
import { parseMailbox } from '../mail/address.ts'
import type { PropertyType, PropertyValue } from '../mail/audience.ts'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Contact, ContactProperty, ContactRef } from '../storage/storage.ts'

/** Maximum number of characters of a first or last name. */
export const MAX_NAME_LENGTH = 250

/** Maximum number of characters of a value. */
export const MAX_VALUE_LENGTH = 2000

/** Control characters, line separators and lone surrogates. Names and values end up in subjects and headers. */
export const unprintableCharacters = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Reads an address. Refuses: `missing_field`, `invalid_field`. */
export function parseAddress(text: string, field = 'email'): string {
  if (text.trim() === '') throw refuse('missing_field', { field })
  const mailbox = parseMailbox(text)
  if (mailbox?.name !== '')
    throw refuse('invalid_field', { field, expected: 'an email address such as `ada@example.com`' })
  return mailbox.address
}

/** Parses the contact id or address in a path; undefined if it is neither. */
export function parseContactRef(text: string): ContactRef | undefined {
  if (isId(text)) return { id: text.toLowerCase() }
  const email = parseMailbox(text)?.address
  return email === undefined ? undefined : { email }
}

/** Reads a first or last name; empty text becomes null. Refuses: `invalid_field`. */
export function parseName(field: string, name: string | null): string | null {
  const text = name?.trim() ?? ''
  if (text === '') return null
  if (text.length > MAX_NAME_LENGTH || unprintableCharacters.test(text))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${MAX_NAME_LENGTH} characters, without line breaks or control characters`,
    })
  return text
}

/**
 * Reads a short text such as a name: trimmed, one line, 1 to `most` characters. Refuses: `missing_field`,
 * `invalid_field`.
 */
export function parseText(field: string, given: string, most: number): string {
  const text = given.trim()
  if (text === '') throw refuse('missing_field', { field })
  if (text.length > most || unprintableCharacters.test(text))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${most} characters, without line breaks or control characters`,
    })
  return text
}

/** Reads a value of a type. Refuses: `invalid_field`. */
export function parseValue(field: string, type: PropertyType, value: unknown): PropertyValue {
  if (type === 'number') {
    if (typeof value !== 'number' || Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw refuse('invalid_field', { field, expected: 'it must be a number of at most 2^53 - 1' })
    return value
  }
  if (typeof value !== 'string') throw refuse('invalid_field', { field, expected: 'it must be a string' })
  if (value.length > MAX_VALUE_LENGTH || value.includes('\0'))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${MAX_VALUE_LENGTH} characters, without NUL characters`,
    })
  return value.toWellFormed()
}

/**
 * Reads values, by the label of their property; null removes one. Refuses: `invalid_field` for an unknown key or a
 * wrong type.
 */
export function parseProperties(
  known: readonly ContactProperty[],
  given: Record<string, unknown>,
): Record<string, PropertyValue | null> {
  const byKey = new Map(known.map((property) => [property.key, property]))
  const read = Object.entries(given).map(([key, value]) => {
    const property = byKey.get(key)
    const field = `properties.${key.slice(0, 50).toWellFormed()}`
    if (!property)
      throw refuse('invalid_field', {
        field,
        expected: 'a property that exists; create it with `POST /contact-properties` first',
      })
    return [property.label, value === null ? null : parseValue(field, property.type, value)] as const
  })
  return Object.fromEntries(read)
}

/** A value with its type, as the API returns it. */
export interface TypedValue {
  key: string
  type: PropertyType
  value: PropertyValue
}

/** Returns the values of a contact, ordered by key, without those of deleted properties. */
export function toTypedValues(
  known: readonly ContactProperty[],
  { properties }: Pick<Contact, 'properties'>,
): TypedValue[] {
  return known
    .flatMap(({ key, label, type }) => {
      const value = Object.hasOwn(properties, label) ? properties[label] : undefined
      return value === undefined ? [] : [{ key, type, value }]
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}
