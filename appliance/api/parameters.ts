/**
 * Parameters of paths and query strings: what the document says of them, and how their text is read (reference: wire
 * format §1.3). An empty parameter counts as absent.
 */
import { Type, type TSchema, type TUnsafe } from 'typebox'
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'

/** One parameter. */
export interface Parameter<T> {
  schema: TSchema
  /** @param given undefined: absent; an array: given more than once */
  read(given: unknown, name: string): T
}

type Parameters = Record<string, Parameter<unknown>>
type Values<P extends Parameters> = { [Name in keyof P]: ReturnType<P[Name]['read']> }

/** The schema of a path or query string, which also reads it. */
export type ReadableSchema<T> = TUnsafe<T> & { read(given: Record<string, unknown>): T }

/** Which part of a list is asked for. */
export interface PageQuery {
  limit: number
  after?: string | undefined
  before?: string | undefined
}

export const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** The schema of a query string. Other parameters are ignored. */
export function query<P extends Parameters>(parameters: P): ReadableSchema<Values<P>> {
  return readable(parameters, [], (values) => {
    if (values.after !== undefined && values.before !== undefined)
      throw refuse('invalid_parameter', {
        parameter: 'after',
        expected: 'either `after` or `before`, not both',
      })
  })
}

/** The schema of the parameters in a path. */
export function path<P extends Parameters>(parameters: P): ReadableSchema<Values<P>> {
  return readable(parameters, Object.keys(parameters))
}

function readable<P extends Parameters>(
  parameters: P,
  required: string[],
  check?: (values: Record<string, unknown>) => void,
): ReadableSchema<Values<P>> {
  const all = Object.entries(parameters)
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]))
  const schema = Type.Unsafe<Values<P>>({ type: 'object', properties, required })
  const read = (given: Record<string, unknown>): Values<P> => {
    const values = Object.fromEntries(
      all.map(([name, parameter]) => [name, parameter.read(given[name], name)]),
    )
    check?.(values)
    return values as Values<P>
  }
  return Object.defineProperty(schema, 'read', { value: read }) as ReadableSchema<Values<P>>
}

const isAbsent = (given: unknown): given is undefined | '' => given === undefined || given === ''

/** A text that matches a pattern. @param expected what the refusal says that it must be */
export function matching(pattern: RegExp, expected: string, schema: TSchema): Parameter<string | undefined> {
  return {
    schema,
    read(given, parameter) {
      if (isAbsent(given)) return undefined
      if (typeof given !== 'string' || !pattern.test(given))
        throw refuse('invalid_parameter', { parameter, expected })
      return given
    },
  }
}

/** Any text. */
export const text = (schema: TSchema): Parameter<string | undefined> =>
  matching(/^/, 'it must be given once', schema)

/** One of a list of words, in any case. */
export function choice<const T extends string>(
  words: readonly T[],
  description: string,
): Parameter<T | undefined> {
  return {
    schema: Type.Unsafe({ type: 'string', enum: [...words], description }),
    read(given, parameter) {
      if (isAbsent(given)) return undefined
      const lower = typeof given === 'string' ? given.toLowerCase() : given
      const found = words.find((word) => word === lower)
      if (found === undefined)
        throw refuse('invalid_parameter', { parameter, expected: `one of ${words.join(', ')}` })
      return found
    },
  }
}

const uuid = (description: string): TSchema => Type.String({ format: 'uuid', description })

/** An id of ours. */
function id(description: string): Parameter<string | undefined> {
  return {
    schema: uuid(description),
    read: (given, parameter) => (isAbsent(given) ? undefined : readId(given, parameter)),
  }
}

function readId(given: unknown, parameter: string): string {
  if (typeof given !== 'string' || !isId(given)) throw refuse('invalid_id', { parameter })
  return given.toLowerCase()
}

/** The id in a path. */
export const pathId: Parameter<string> = { schema: uuid('The id.'), read: readId }

/** A part of a path that is not a UUID. @param read refuses what names nothing */
export const pathText = (
  description: string,
  read: (given: string) => string = (given) => given,
): Parameter<string> => ({ schema: Type.String({ description }), read: (given) => read(String(given)) })

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

/** How many elements of a list. */
export const limit: Parameter<number> = {
  schema: limitSchema,
  read: (given, name) => (given === undefined ? DEFAULT_LIMIT : readLimit(given, name)),
}

const after = id('The page after this id, exclusive.')
const before = id('The page before this id, exclusive.')

/** The parameters of a list that comes in pages. */
export const page = { limit, after, before }

/** The parameters of a short list: it comes whole unless one of them is set. */
export const shortPage = {
  limit: {
    schema: limitSchema,
    read: (given: unknown, name: string) => (given === undefined ? undefined : readLimit(given, name)),
  },
  after,
  before,
}
