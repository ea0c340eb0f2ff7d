/** Builders of schemas. They take the description that the OpenAPI document shows, and other options only if needed. */
import {
  Type,
  type TArrayOptions,
  type TNumberOptions,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TStringOptions,
} from 'typebox'

/** The options of a schema: its description, or several. */
type About = string | TSchemaOptions
const options = (about: About): TSchemaOptions => (typeof about === 'string' ? { description: about } : about)

export const string = (description: string, more?: TStringOptions) => Type.String({ description, ...more })
export const integer = (description: string, more?: TNumberOptions) => Type.Integer({ description, ...more })
export const number = (description: string, more?: TNumberOptions) => Type.Number({ description, ...more })
export const boolean = (description: string, more?: TSchemaOptions) => Type.Boolean({ description, ...more })

/** A count: an integer from 0. */
export const count = (description: string) => Type.Integer({ minimum: 0, description })

/** An object with these fields. */
export const object = <T extends TProperties>(description: string, properties: T) =>
  Type.Object(properties, { description })

/** An array of one kind of items. */
export const array = <T extends TSchema>(items: T, description: string, more?: TArrayOptions) =>
  Type.Array(items, { description, ...more })

/** An array of objects with these fields. */
export const arrayOfObjects = <T extends TProperties>(description: string, properties: T) =>
  array(Type.Object(properties), description)

/** An object whose fields have any names, and values of one kind. */
export const record = <T extends TSchema>(values: T, description: string, more?: TSchemaOptions) =>
  Type.Record(Type.String(), values, { description, ...more })

/** A value that may be null. */
export const Nullable = <T extends TSchema>(schema: T, about: About = {}) =>
  Type.Union([schema, Type.Null()], options(about))

/** A field that may be missing or null. */
export const optionalOrNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Optional(Nullable(schema, description))

/** Text that may be missing or null. */
export const optionalText = (description: string) => optionalOrNull(Type.String(), description)

/** One of a fixed list of strings. */
export const literals = <const T extends readonly string[]>(values: T, about: About = {}) =>
  Type.Unsafe<T[number]>(Type.Enum([...values], options(about)))

/** The type of an object, for programs that receive several types. */
export const kind = <const T extends string>(name: T) =>
  Type.Literal(name, { description: `Always \`${name}\`.` })
