/**
 * Accepts bodies as clients in other languages write them: an empty map as `[]` (PHP), constants in any case (Java),
 * field names in camelCase (n8n). The accepted variants are derived from the body's schema, so this works for all
 * routes. Maps with free keys, such as `headers`, keep their keys.
 */
import type { RouteOptions } from 'fastify'
import type { App } from './deps.ts'
import type { Schema } from '../api/shared.ts'

/**
 * Converts a value to the spelling in its schema. Changes objects and lists in place; leaves invalid values to
 * validation.
 */
export type Normalize = (value: unknown) => unknown

/** Normalizes the body of every route that is added afterwards, before any other code reads it. */
export function normalizeBodies(app: App): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const respell = createNormalizer(route.schema?.body as Schema | undefined)
    if (!respell) return
    const others = [route.preValidation ?? []].flat()
    route.preValidation = [
      (request, _reply, done) => {
        request.body = respell(request.body)
        done()
      },
      ...others,
    ]
  })
}

/** Returns a function that normalizes values of a schema; undefined when there is nothing to normalize. */
export function createNormalizer(schema: Schema | undefined): Normalize | undefined {
  if (!schema) return undefined
  if (schema.anyOf) return ofUnion(schema.anyOf)
  if (schema.type === 'object') return ofObject(schema)
  if (schema.type === 'array') return ofArray(schema)
  const words = schema.enum ?? [schema.const]
  return words.every((word) => typeof word === 'string') ? ofWords(words) : undefined
}

function ofObject({ properties = {} }: Schema): Normalize {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const camel = camelCase(name)
    const alias = camel === name || camel in properties ? undefined : camel
    const respell = createNormalizer(schema)
    return alias === undefined && !respell ? [] : [{ name, alias, respell }]
  })
  return (value) => {
    if (Array.isArray(value)) return value.length === 0 ? {} : value
    if (typeof value !== 'object' || value === null) return value
    const object = value as Record<string, unknown>
    for (const { name, alias, respell } of fields) {
      if (alias !== undefined && Object.hasOwn(object, alias)) rename(object, alias, name)
      if (respell === undefined) continue
      const given = object[name]
      if (given === undefined) continue
      const meant = respell(given)
      if (meant !== given) object[name] = meant
    }
    return object
  }
}

/** Renames a field. When both names are present, the value under the schema's name wins. */
function rename(object: Record<string, unknown>, alias: string, name: string): void {
  if (!Object.hasOwn(object, name)) object[name] = object[alias]
  delete object[alias]
}

function ofArray({ items, maxItems = Infinity }: Schema): Normalize | undefined {
  const respell = createNormalizer(items)
  if (!respell) return undefined
  return (value) => {
    // A list that is too long is refused anyway, so don't process its millions of elements.
    if (!Array.isArray(value) || value.length > maxItems) return value
    const list = value as unknown[]
    for (let at = 0; at < list.length; at++) list[at] = respell(list[at])
    return list
  }
}

function ofWords(words: readonly string[]): Normalize {
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]))
  const longest = Math.max(...words.map(({ length }) => length))
  return (value) =>
    typeof value === 'string' && value.length <= longest
      ? (byLowerCase.get(value.toLowerCase()) ?? value)
      : value
}

/** Normalizes a value by the alternative of its own type. An empty list isn't a map if a list is allowed, too. */
function ofUnion(parts: readonly Schema[]): Normalize | undefined {
  const kinds = new Set(parts.map(({ type }) => type))
  const pick = (kept: (part: Schema) => boolean): Normalize[] =>
    parts.filter(kept).flatMap((part) => createNormalizer(part) ?? [])
  const lists = pick(({ type }) => type === (kinds.has('array') ? 'array' : 'object'))
  const objects = pick(({ type }) => type === 'object')
  const isWord = (part: Schema) => part.enum !== undefined || part.const !== undefined
  // When free text is allowed as well, constants have no fixed spelling.
  const words = parts.some((part) => part.type === 'string' && !isWord(part)) ? [] : pick(isWord)
  if (lists.length + objects.length + words.length === 0) return undefined
  const [ofList, ofMap, ofWord] = [inTurn(lists), inTurn(objects), inTurn(words)]
  return (value) => {
    if (value === null || value === undefined) return value
    if (typeof value !== 'object') return ofWord(value)
    return Array.isArray(value) ? ofList(value) : ofMap(value)
  }
}

function inTurn(all: readonly Normalize[]): Normalize {
  if (all.length === 1) return all[0]!
  return (value) => all.reduce((spelled, respell) => respell(spelled), value)
}

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
