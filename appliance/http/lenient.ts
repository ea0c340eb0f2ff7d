/**
 * Reads bodies as clients of other languages write them: an empty map as `[]` (PHP), constants in any case (Java), field
 * names in camelCase (n8n). What may be written otherwise follows from the schema of the body, so it holds for all routes.
 * Maps with keys of the caller's own, such as `headers`, keep their keys.
 */
import type { RouteOptions } from 'fastify'
import type { App } from './deps.ts'
import type { Schema } from '../api/shared.ts'

/** Gives the value as its schema spells it. Objects and lists are changed in place; what doesn't fit is left to the validator. */
export type Respell = (value: unknown) => unknown

/** Respells the body of every route that is added from now on, before anything looks at it. */
export function readLeniently(app: App): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const respell = respellerOf(route.schema?.body as Schema | undefined)
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

/** What respells values of a schema; undefined where there is nothing to respell. */
export function respellerOf(schema: Schema | undefined): Respell | undefined {
  if (!schema) return undefined
  if (schema.anyOf) return ofUnion(schema.anyOf)
  if (schema.type === 'object') return ofObject(schema)
  if (schema.type === 'array') return ofArray(schema)
  const words = schema.enum ?? [schema.const]
  return words.every((word) => typeof word === 'string') ? ofWords(words) : undefined
}

function ofObject({ properties = {} }: Schema): Respell {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const camel = camelCase(name)
    const alias = camel === name || camel in properties ? undefined : camel
    const respell = respellerOf(schema)
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

/** Where both names are given, the one of the schema counts. */
function rename(object: Record<string, unknown>, alias: string, name: string): void {
  if (!Object.hasOwn(object, name)) object[name] = object[alias]
  delete object[alias]
}

function ofArray({ items, maxItems = Infinity }: Schema): Respell | undefined {
  const respell = respellerOf(items)
  if (!respell) return undefined
  return (value) => {
    // A list that is too long is refused anyway: nothing is done for each of its millions of elements.
    if (!Array.isArray(value) || value.length > maxItems) return value
    const list = value as unknown[]
    for (let at = 0; at < list.length; at++) list[at] = respell(list[at])
    return list
  }
}

function ofWords(words: readonly string[]): Respell {
  const byLowerCase = new Map(words.map((word) => [word.toLowerCase(), word]))
  const longest = Math.max(...words.map(({ length }) => length))
  return (value) =>
    typeof value === 'string' && value.length <= longest
      ? (byLowerCase.get(value.toLowerCase()) ?? value)
      : value
}

/** A value is respelled by the parts of its own kind: an empty list is no map where a list is allowed as well. */
function ofUnion(parts: readonly Schema[]): Respell | undefined {
  const kinds = new Set(parts.map(({ type }) => type))
  const pick = (kept: (part: Schema) => boolean): Respell[] =>
    parts.filter(kept).flatMap((part) => respellerOf(part) ?? [])
  const lists = pick(({ type }) => type === (kinds.has('array') ? 'array' : 'object'))
  const objects = pick(({ type }) => type === 'object')
  const isWord = (part: Schema) => part.enum !== undefined || part.const !== undefined
  // Beside free text, words have no spelling of their own.
  const words = parts.some((part) => part.type === 'string' && !isWord(part)) ? [] : pick(isWord)
  if (lists.length + objects.length + words.length === 0) return undefined
  const [ofList, ofMap, ofWord] = [inTurn(lists), inTurn(objects), inTurn(words)]
  return (value) => {
    if (value === null || value === undefined) return value
    if (typeof value !== 'object') return ofWord(value)
    return Array.isArray(value) ? ofList(value) : ofMap(value)
  }
}

function inTurn(all: readonly Respell[]): Respell {
  if (all.length === 1) return all[0]!
  return (value) => all.reduce((spelled, respell) => respell(spelled), value)
}

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
