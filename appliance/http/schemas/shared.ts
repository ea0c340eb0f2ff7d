import { Type, type TSchema } from 'typebox'

/** Pieces that several nouns share. */

export const Id = Type.String({ format: 'uuid' })

/** `2026-11-20 20:39:59.540771+00`, the text form of the REST interface (reference: wire format §1.3). */
export const Timestamp = Type.String({ examples: ['2026-11-20 20:39:59.540+00'] })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of a constant list of strings. */
export const literals = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.Enum([...values]))

/** The envelope of every list (reference: wire format §1.3). */
export const listOf = <T extends TSchema>(item: T) =>
  Type.Object({ object: Type.Literal('list'), has_more: Type.Boolean(), data: Type.Array(item) })

/** Every error (reference: wire format §3). */
export const ErrorBody = Type.Object({
  statusCode: Type.Integer(),
  message: Type.String(),
  name: Type.String(),
})
