/** What the sections of the configuration's schema are made of. */
import { Type, type TSchema } from 'typebox'

/** A list of texts of one format (formats.ts). */
export const strings = (description: string, format: string, value: string[] = [], options: object = {}) =>
  Type.Array(Type.String({ format }), { default: value, description, ...options })

/** A section of the file. */
export const section = <T extends Record<string, TSchema>>(description: string, properties: T) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description })

/** Keys whose value is never repeated in a complaint. */
export const secret = { secret: true }
