import { Type, type Static, type TSchema, type TSchemaOptions } from 'typebox'
import type { Refusal } from '../mail/refusals.ts'
import { DEFAULT_LIMIT, type PageQuery } from './parameters.ts'

/** Pieces that several nouns share. */

export const Id = Type.String({ format: 'uuid', description: 'A UUID. Ids sort by creation time.' })

/** `2026-11-20 20:39:59.540771+00`, the text form of the REST interface (reference: wire format §1.3). */
export const Timestamp = Type.String({
  description: 'Time in UTC, with milliseconds.',
  examples: ['2026-11-20 20:39:59.54+00'],
})

export const Nullable = <T extends TSchema>(schema: T, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options)

export const described = (description: string) => ({ description })

/** A text that may be null or absent. */
export const optionalText = (description: string) =>
  Type.Optional(Nullable(Type.String(), described(description)))

/** A number of things. */
export const count = (description: string) => Type.Integer({ minimum: 0, description })

/** One of a constant list of strings. */
export const literals = <const T extends readonly string[]>(values: T, options: TSchemaOptions = {}) =>
  Type.Unsafe<T[number]>(Type.Enum([...values], options))

/** What an answer is, for programs that get several kinds. */
export const kind = <const T extends string>(name: T) =>
  Type.Literal(name, { description: `Always \`${name}\`.` })

/**
 * The envelope of every list (reference: wire format §1.3).
 * @param what what it is a list of, in words
 * @param contents describes `data`
 */
export const listOf = <T extends TSchema>(item: T, what: string, contents = 'This page, newest first.') =>
  Type.Object(
    {
      object: kind('list'),
      has_more: Type.Boolean({ description: 'Whether there is another page.' }),
      data: Type.Array(item, { description: contents }),
    },
    { description: `A page of ${what}.` },
  )

/** A document of the editor in a request. */
export const GivenDocument = Type.Optional(
  Type.Unknown({
    description:
      'The document of the editor. `html` and `text` are compiled from it and can’t be given beside it. null, or `html` or `text` alone: the content is code from now on.',
  }),
)
/** A document of the editor in an answer. */
export const StoredDocument = Nullable(Type.Record(Type.String(), Type.Unknown()), {
  description: 'The document of the editor that the content was compiled from; null: it was written as code.',
})
export const presentDocument = (json: string | null): Static<typeof StoredDocument> =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>)

/** What the answer to a removal says. */
export const Deleted = Type.Literal(true, { description: 'Always true.' })

/** Which thing was made or changed. @param object its kind */
export const presentRef = <const T extends string>(object: T, id: string) => ({ object, id })

/** Which thing was removed. @param object its kind */
export const presentDeleted = <const T extends string>(object: T, id: string) => ({
  ...presentRef(object, id),
  deleted: true as const,
})

/** Every error (reference: wire format §3). */
export const ErrorBody = Type.Object(
  {
    statusCode: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String({ description: 'For people: what is wrong, and how to fix it.' }),
    name: Type.String({ description: 'For programs: the kind of error.', examples: ['validation_error'] }),
  },
  { description: 'The error.' },
)

/** The body of an error; clients read these three keys, in this order. */
export function presentError({ status, message, wireName }: Refusal): Static<typeof ErrorBody> {
  return { statusCode: status, message, name: wireName }
}

/** The statuses of refusals as RFC 9110 §15 and RFC 6585 call them. */
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

/** A list in its envelope; `hasMore` is false for lists that always come whole. */
export function presentList<T>(data: T[], hasMore = false): { object: 'list'; has_more: boolean; data: T[] } {
  return { object: 'list', has_more: hasMore, data }
}

/**
 * A page of a list that is short enough to be in memory, newest first by id. Without any parameter it is the whole
 * list, as the hosted service does it for domains.
 */
export function pageOf<T extends { id: string }>(
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

/** The parts of JSON Schema (2020-12) that our schemas use. */
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
