/**
 * Parameters of paths and query strings: their documentation and parsing (reference: wire format §1.3). An empty
 * parameter counts as absent.
 */
import { Type, type TSchema, type TUnsafe } from 'typebox'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'

/** One parameter. */
export interface Parameter<T> {
  /** Schema for the documentation; undefined if the parameter isn't documented. */
  schema?: TSchema
  /**
   * Parses the value.
   * @param given undefined if absent; an array if the parameter was repeated
   */
  read(given: unknown, name: string): T
}

type Parameters = Record<string, Parameter<unknown>>
type Values<P extends Parameters> = { [Name in keyof P]: ReturnType<P[Name]['read']> }

/** Filter parameters in a request, by name. */
export type RawParameters<P extends Parameters> = Partial<Record<keyof P & string, string>>

/** The schema of a path or query string, with a function that parses it. */
export type ReadableSchema<T> = TUnsafe<T> & { read(given: Record<string, unknown>): T }

/** The requested page of a list. */
export interface PageQuery {
  limit: number
  after?: string | undefined
  before?: string | undefined
}

export const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** Creates the schema of a query string. Ignores other parameters. */
export const query = <P extends Parameters>(parameters: P): ReadableSchema<Values<P>> =>
  readable(parameters, [], checkCursors)

/**
 * Creates the schema of a search's query string. Refuses other parameters, because a search that ignored a condition
 * would return too much.
 * @param named the parameters that the refusal lists; default: all
 */
export function search<P extends Parameters>(
  parameters: P,
  named: readonly string[] = Object.keys(parameters),
): ReadableSchema<Values<P>> {
  return readable(parameters, [], (values, given) => {
    const strange = Object.keys(given).find((name) => !Object.hasOwn(parameters, name))
    if (strange !== undefined)
      throw refuse('invalid_parameter', { parameter: strange, expected: `one of ${named.join(', ')}` })
    checkCursors(values)
  })
}

/**
 * Creates the schema of a query string that passes on all parameters; the function that reads the conditions refuses
 * unknown ones.
 */
export function conditions<P extends Parameters>(
  parameters: P,
): ReadableSchema<Values<P> & Record<string, unknown>> {
  const own = query(parameters)
  const read = (given: Record<string, unknown>) => ({ ...given, ...own.read(given) })
  const schema = Type.Unsafe<Values<P> & Record<string, unknown>>({ ...own })
  return Object.defineProperty(schema, 'read', { value: read }) as ReadableSchema<
    Values<P> & Record<string, unknown>
  >
}

function checkCursors({ after, before }: Record<string, unknown>): void {
  if (after !== undefined && before !== undefined)
    throw refuse('invalid_parameter', {
      parameter: 'after',
      expected: 'either `after` or `before`, not both',
    })
}

/** Creates the schema of the parameters in a path. */
export function path<P extends Parameters>(parameters: P): ReadableSchema<Values<P>> {
  return readable(parameters, Object.keys(parameters))
}

function readable<P extends Parameters>(
  parameters: P,
  required: string[],
  check?: (values: Record<string, unknown>, given: Record<string, unknown>) => void,
): ReadableSchema<Values<P>> {
  const all = Object.entries(parameters)
  const properties = Object.fromEntries(
    all.flatMap(([name, { schema }]) => (schema === undefined ? [] : [[name, schema]])),
  )
  const schema = Type.Unsafe<Values<P>>({ type: 'object', properties, required })
  const read = (given: Record<string, unknown>): Values<P> => {
    const values = Object.fromEntries(
      all.map(([name, parameter]) => [name, parameter.read(given[name], name)]),
    )
    check?.(values, given)
    return values as Values<P>
  }
  return Object.defineProperty(schema, 'read', { value: read }) as ReadableSchema<Values<P>>
}

const isAbsent = (given: unknown): given is undefined | '' => given === undefined || given === ''

/** Parses a text, and refuses invalid ones. */
type Read<T> = (given: string, name: string) => T

/** Creates a parameter that `read` parses. A repeated parameter is read as empty text, which is never valid. */
export const optional = <T>(schema: TSchema, read: Read<T>): Parameter<T | undefined> => ({
  schema,
  read: (given, name) => (isAbsent(given) ? undefined : read(typeof given === 'string' ? given : '', name)),
})

/** Maximum number of UTF-16 units of a condition: a Message-ID may fill a line (RFC 5322 §2.1.1). */
const LONGEST = 998

/** Creates a search condition: trims the text and parses it with `read`. Refuses an empty one. */
export const condition = <T = string>(
  schema: TSchema,
  read: Read<T> = (given) => given as T,
): Parameter<T | undefined> => ({
  schema,
  read(given, parameter) {
    if (given === undefined) return undefined
    const text = typeof given === 'string' ? given.trim() : ''
    if (text === '' || text.length > LONGEST || text.includes('\0'))
      throw refuse('invalid_parameter', {
        parameter,
        expected: `a single string of 1 to ${LONGEST} characters; leave it out if you do not need it`,
      })
    return read(text, parameter)
  },
})

/** Creates a parameter that is parsed later, by a function shared with the command line. */
export const unparsedParameter = (schema: TSchema): Parameter<unknown> => ({ schema, read: (given) => given })

/** Creates a parameter that other lists have but this one refuses. */
export const unsupportedParameter = (expected: string): Parameter<undefined> => ({
  read(given, parameter) {
    if (given !== undefined) throw refuse('invalid_parameter', { parameter, expected })
    return undefined
  },
})

/** Creates a parameter for any text. @param expected the refusal's text for a repeated parameter */
export const text = (schema: TSchema, expected = 'a single string'): Parameter<string | undefined> =>
  optional(schema, (given, parameter) => {
    if (given === '') throw refuse('invalid_parameter', { parameter, expected })
    return given
  })

/** Creates a parameter for text that matches a pattern. @param expected the refusal's text */
export const patternParameter = (
  pattern: RegExp,
  expected: string,
  schema: TSchema,
): Parameter<string | undefined> =>
  optional(schema, (given, parameter) => {
    if (!pattern.test(given)) throw refuse('invalid_parameter', { parameter, expected })
    return given
  })

/** Parses one of a list of words, ignoring case. Refuses: `invalid_parameter`. */
const oneOf =
  <const T extends string>(words: readonly T[]): Read<T> =>
  (given, parameter) => {
    const found = words.find((word) => word === given.toLowerCase())
    if (found === undefined)
      throw refuse('invalid_parameter', { parameter, expected: `one of ${words.join(', ')}` })
    return found
  }

const wordSchema = (words: readonly string[], description: string): TSchema =>
  Type.Unsafe({ type: 'string', enum: [...words], description })

/** Creates a parameter for one of a list of words, ignoring case. */
export const choice = <const T extends string>(
  words: readonly T[],
  description: string,
): Parameter<T | undefined> => optional(wordSchema(words, description), oneOf(words))

/** Like `choice`, as a search condition. */
export const choiceCondition = <const T extends string>(
  words: readonly T[],
  description: string,
): Parameter<T | undefined> => condition(wordSchema(words, description), oneOf(words))

/** Creates a parameter for a time or a UTC day, parsed to Unix milliseconds. */
export const instant = (description: string): Parameter<number | undefined> =>
  optional(Type.String({ description }), parseInstant)

/** Parses a time or a UTC day. Refuses: `invalid_parameter`, with the name. */
export function parseInstant(given: string, parameter: string): number {
  const at = /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isNaN(at) || at < 0)
    throw refuse('invalid_parameter', {
      parameter,
      expected: 'a time in ISO 8601, such as `2026-11-20T09:00:00Z`, or a date in UTC',
    })
  return at
}

/** Creates a parameter for `true` or `false`, with a default. */
export const flag = (byDefault: boolean, description: string): Parameter<boolean> => ({
  schema: Type.Boolean({ description, default: byDefault }),
  read(given, parameter) {
    if (isAbsent(given)) return byDefault
    if (given !== 'true' && given !== 'false')
      throw refuse('invalid_parameter', { parameter, expected: 'true or false' })
    return given === 'true'
  },
})

export const idSchema = (description: string) => Type.String({ format: 'uuid', description })

/** Creates a parameter for an id. */
export function id(description: string): Parameter<string | undefined> {
  return {
    schema: idSchema(description),
    read: (given, parameter) => (isAbsent(given) ? undefined : parseId(given, parameter)),
  }
}

/** Parses an id. Refuses: `invalid_id`. */
export function parseId(given: unknown, parameter: string): string {
  if (typeof given !== 'string' || !isId(given)) throw refuse('invalid_id', { parameter })
  return given.toLowerCase()
}

/**
 * Creates a path parameter for an ID.
 * @param called the parameter's name in refusals, if different
 */
export const pathUuid = (description: string, called?: string): Parameter<string> => ({
  schema: idSchema(description),
  read: (given, name) => parseId(given, called ?? name),
})

/** The id in a path. */
export const pathId = pathUuid('The id.')

/** The parameters of a path with an id. */
export const byId = path({ id: pathId })

/** Creates a path parameter that is not a UUID. */
export const pathText = (description: string, read: Read<string> = (given) => given): Parameter<string> => ({
  schema: Type.String({ description }),
  read: (given, name) => read(String(given), name),
})

const limitSchema = Type.Integer({
  description: `How many, from 1 to ${MAX_LIMIT}.`,
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
})

function readLimit(given: unknown, parameter: string): number {
  const limit = typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw refuse('invalid_parameter', { parameter, expected: `a number from 1 to ${MAX_LIMIT}` })
  return limit
}

/** The page size. */
export const limit: Parameter<number> = {
  schema: limitSchema,
  read: (given, name) => (given === undefined ? DEFAULT_LIMIT : readLimit(given, name)),
}

/** The cursor for the next page. */
export const afterParameter = id('The page after this id, exclusive.')
const before = id('The page before this id, exclusive.')

/** The parameters of a paged list. */
export const page = { limit, after: afterParameter, before }

/** The parameters of a short list, which is returned whole if none of them is set. */
export const shortPage = {
  limit: {
    schema: limitSchema,
    read: (given: unknown, name: string) => (given === undefined ? undefined : readLimit(given, name)),
  },
  after: afterParameter,
  before,
}

/** The parameters of a search: each request searches a bounded part of a long list, and the client continues. */
export const searchPage = {
  limit,
  after: afterParameter,
  before: unsupportedParameter(
    'a search pages only forward, with `after`; to limit the time, use `since` and `until`',
  ),
}
