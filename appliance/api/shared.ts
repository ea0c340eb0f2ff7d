import { Type, type Static, type TSchema } from 'typebox'
import { array, boolean, integer, kind, Nullable, object, string } from './schemas.ts'
import type { Refusal } from '../mail/refusals.ts'
import { DEFAULT_LIMIT, type PageQuery } from './parameters.ts'

/** Schemas and formats that several resources share. */

export const Id = string('A UUID. Ids sort by creation time.', { format: 'uuid' })

/** The time format of the REST API, `2026-11-20 20:39:59.540771+00` (reference: wire format §1.3). */
export const Timestamp = string('Time in UTC, with milliseconds.', {
  examples: ['2026-11-20 20:39:59.54+00'],
})

/**
 * The envelope of every list (reference: wire format §1.3).
 *
 * @param what description of the elements
 *
 * @param contents description of `data`
 */
export const listOf = <T extends TSchema>(item: T, what: string, contents = 'This page, newest first.') =>
  object(`A page of ${what}.`, {
    object: kind('list'),
    has_more: boolean('Whether there is another page.'),
    data: array(item, contents),
  })

/** An editor document in a request. */
export const DocumentInput = Type.Optional(
  Type.Unknown({
    description:
      'The document of the editor. `html` and `text` are compiled from it and can’t be given together with it. null, or `html` or `text` alone: the content is code from now on.',
  }),
)
/** An editor document in a response. */
export const StoredDocument = Nullable(
  Type.Record(Type.String(), Type.Unknown()),
  'The document of the editor that the content was compiled from; null: it was written as code.',
)
export const presentDocument = (json: string | null): Static<typeof StoredDocument> =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>)

/** Field that confirms a deletion. */
export const Deleted = Type.Literal(true, { description: 'Always true.' })

/** Formats a reference to a created or changed object. @param object its type */
export const presentRef = <const T extends string>(object: T, id: string) => ({ object, id })

/** Formats a reference to a removed object. @param object its type */
export const presentDeleted = <const T extends string>(object: T, id: string) => ({
  ...presentRef(object, id),
  deleted: true as const,
})

/** The body of every error (reference: wire format §3). */
export const ErrorBody = object('The error.', {
  statusCode: integer('The HTTP status.'),
  message: string('For people: what is wrong, and how to fix it.'),
  name: string('For programs: the kind of error.', { examples: ['validation_error'] }),
})

/** Formats an error; clients read these three keys in this order. */
export function presentError({ status, message, wireName }: Refusal): Static<typeof ErrorBody> {
  return { statusCode: status, message, name: wireName }
}

/** Names of error statuses, from RFC 9110 §15 and RFC 6585. */
export const ERROR_NAMES: Record<string, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  451: 'UnavailableForLegalReasons',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  507: 'InsufficientStorage',
}

/** Formats a list; `hasMore` is false for lists that are never paged. */
export function presentList<T>(data: T[], hasMore = false): { object: 'list'; has_more: boolean; data: T[] } {
  return { object: 'list', has_more: hasMore, data }
}

/** Formats a page of a list. @param present formats an item */
export const presentPage = <T, P>(
  { items, hasMore }: { items: readonly T[]; hasMore: boolean },
  present: (item: T) => P,
) =>
  presentList(
    items.map((item) => present(item)),
    hasMore,
  )

/**
 * Returns a page of a list that fits in memory, newest first by id. Without parameters, returns the whole list, like
 * the hosted service's list of domains.
 */
export function paginateList<T extends { id: string }>(
  items: T[],
  { limit: given, after, before }: Partial<PageQuery>,
): { items: T[]; hasMore: boolean } {
  const sorted = items.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  if (given === undefined && after === undefined && before === undefined)
    return { items: sorted, hasMore: false }
  const limit = given ?? DEFAULT_LIMIT
  if (before !== undefined) {
    const newer = sorted.filter(({ id }) => id > before)
    return { items: newer.slice(-limit), hasMore: newer.length > limit }
  }
  const older = after === undefined ? sorted : sorted.filter(({ id }) => id < after)
  return { items: older.slice(0, limit), hasMore: older.length > limit }
}

/** The subset of JSON Schema (2020-12) that the API's schemas use. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  examples?: unknown[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  patternProperties?: Record<string, Schema>
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}
