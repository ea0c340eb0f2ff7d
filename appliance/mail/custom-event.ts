/** Custom events: names, schemas and payloads. Pure. */
import { refuse } from './refusals.ts'

/** Types of the fields of a payload. `date`: an ISO 8601 date or time as a string. */
export const EVENT_FIELD_TYPES = ['string', 'number', 'boolean', 'date'] as const
export type EventFieldType = (typeof EVENT_FIELD_TYPES)[number]
/** The type of each field, by name. */
export type EventSchema = Record<string, EventFieldType>
export type EventPayload = Record<string, unknown>

/** Names that the hosted service reserves for events of its own. */
const RESERVED = 'resend:'
const MAX_NAME = 255
const MAX_FIELDS = 100
const MAX_FIELD_NAME = 100
/** Limit on the characters of a payload as JSON. */
const MAX_PAYLOAD = 32_768

const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Reads the name of an event. Refuses: `missing_field`, `invalid_field`. */
export function parseEventName(given: string, field = 'name'): string {
  const name = given.trim()
  if (name === '') throw refuse('missing_field', { field })
  if (name.length > MAX_NAME || unprintable.test(name))
    throw refuse('invalid_field', {
      field,
      expected: `at most ${MAX_NAME} characters, without line breaks or control characters`,
    })
  if (name.toLowerCase().startsWith(RESERVED))
    throw refuse('invalid_field', { field, expected: `a name that does not start with \`${RESERVED}\`` })
  return name
}

/** Reads a schema; null or an empty one means any payload. Refuses: `invalid_field`. */
export function parseEventSchema(given: Record<string, unknown> | null | undefined): EventSchema | null {
  const fields = Object.entries(given ?? {})
  if (fields.length === 0) return null
  if (fields.length > MAX_FIELDS)
    throw refuse('invalid_field', { field: 'schema', expected: `at most ${MAX_FIELDS} fields` })
  const read = fields.map(([name, type]): [string, EventFieldType] => {
    if (name === '' || name === '__proto__' || name.length > MAX_FIELD_NAME || unprintable.test(name))
      throw refuse('invalid_field', {
        field: 'schema',
        expected: `names of fields with 1 to ${MAX_FIELD_NAME} characters`,
      })
    const known = EVENT_FIELD_TYPES.find((one) => one === type)
    if (!known)
      throw refuse('invalid_field', {
        field: `schema.${name}`,
        expected: `one of ${EVENT_FIELD_TYPES.join(', ')}`,
      })
    return [name, known]
  })
  return Object.fromEntries(read)
}

/**
 * Reads a payload. Fields may be missing or null; fields that the schema lacks are kept.
 * @param schema null for any payload
 * Refuses: `invalid_field`.
 */
export function parsePayload(
  given: EventPayload | null | undefined,
  schema: EventSchema | null,
): EventPayload {
  const payload = given ?? {}
  const text = JSON.stringify(payload)
  if (text.length > MAX_PAYLOAD || text.includes(String.raw`\u0000`))
    throw refuse('invalid_field', {
      field: 'payload',
      expected: `at most ${MAX_PAYLOAD} characters as JSON, without NUL characters`,
    })
  for (const [name, type] of Object.entries(schema ?? {})) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined
    if (value !== undefined && value !== null && !isOfType(value, type))
      throw refuse('invalid_field', { field: `payload.${name}`, expected: EXPECTED[type] })
  }
  return payload
}

const EXPECTED: Record<EventFieldType, string> = {
  string: 'the schema of the event has a string',
  number: 'the schema of the event has a number',
  boolean: 'the schema of the event has a boolean',
  date: 'the schema of the event has a date in ISO 8601, such as `2026-05-01` or `2026-05-01T12:00:00Z`',
}

function isOfType(value: unknown, type: EventFieldType): boolean {
  if (type === 'number') return typeof value === 'number' && Number.isFinite(value)
  if (type === 'date') return typeof value === 'string' && isDate(value)
  return typeof value === type
}

/** Whether a text is a date or time in ISO 8601. */
const isDate = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text) &&
  !Number.isNaN(Date.parse(text))
