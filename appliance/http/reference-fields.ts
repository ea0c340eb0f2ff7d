/** The fields of a body as a table, inner objects folded away. Pure. */
import type { Schema } from './openapi-components.ts'
import type { ApiDocument } from './openapi.ts'
import { escapeHtml, inline } from './reference-html.ts'

/** Deeper than any body of ours. */
const MAX_DEPTH = 6

/** The fields of an object, or of the elements of an array. */
export function fieldTable(schema: Schema, document: ApiDocument, depth = 0): string {
  const { properties, required = [] } = objectIn(schema, document) ?? {}
  if (!properties || depth > MAX_DEPTH) return `<p>${typeName(resolve(schema, document))}</p>`
  const rows = Object.entries(properties).map(([name, part]) => {
    const inner = objectIn(part, document)
    const more = inner?.properties
      ? `<details class="inner"><summary>Fields</summary>${fieldTable(inner, document, depth + 1)}</details>`
      : ''
    const must = required.includes(name) ? ' <span class="must">required</span>' : ''
    return `<tr><td><code>${escapeHtml(name)}</code><span class="type">${typeName(part, document)}${must}</span></td><td>${explain(part, document)}${more}</td></tr>`
  })
  return `<table class="fields"><tbody>${rows.join('')}</tbody></table>`
}

const resolve = (schema: Schema, document?: ApiDocument): Schema =>
  schema.$ref === undefined
    ? schema
    : (document?.components.schemas[schema.$ref.split('/').at(-1)!] ?? schema)

/** The object that a schema is, holds in an array, or offers as one of several. */
function objectIn(schema: Schema, document: ApiDocument): Schema | undefined {
  const own = resolve(schema, document)
  if (own.properties) return own
  if (own.items) return objectIn(own.items, document)
  return own.anyOf?.map((part) => objectIn(part, document)).find((part) => part !== undefined)
}

/** A type in words: `array of string or null`. */
export function typeName(schema: Schema, document?: ApiDocument): string {
  if (schema.$ref !== undefined) {
    const own = resolve(schema, document)
    return own.type === 'array' ? typeName(own, document) : 'object'
  }
  if (schema.anyOf) return [...new Set(schema.anyOf.map((part) => typeName(part, document)))].join(' or ')
  if (schema.type === 'array') return `array of ${typeName(schema.items ?? {}, document)}`
  if ('const' in schema) return escapeHtml(JSON.stringify(schema.const))
  if (schema.enum) return 'string'
  return schema.format ?? [schema.type ?? 'any'].flat().join(' or ')
}

function explain(schema: Schema, document: ApiDocument): string {
  const description = describe(schema, document)
  const values = valuesOf(schema)
  return [
    description === undefined ? '' : inline(description),
    values.length > 0
      ? `One of ${values.map((value) => `<code>${escapeHtml(value)}</code>`).join(', ')}.`
      : '',
  ]
    .filter((part) => part !== '')
    .join(' ')
}

/** Its own description, or those of what it may be. */
function describe(schema: Schema, document: ApiDocument): string | undefined {
  const own = schema.description ?? resolve(schema, document).description
  if (own !== undefined) return own
  const parts = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  const found = parts.flatMap((part) => describe(part, document) ?? [])
  return found.length > 0 ? found.join(' Or: ') : undefined
}

const valuesOf = ({ enum: own, anyOf, items }: Schema): string[] =>
  own?.map(String) ?? anyOf?.flatMap(valuesOf) ?? (items ? valuesOf(items) : [])
