/**
 * Compares two OpenAPI documents by meaning. References are resolved, so component names don't matter.
 * usage: node scripts/openapi-diff.ts BEFORE.json AFTER.json
 * Prints what AFTER removed, changed and added. Fails if anything was removed or changed.
 */
import { readFileSync } from 'node:fs'

type Json = null | boolean | number | string | Json[] | JsonObject
interface JsonObject {
  [key: string]: Json
}

/** Maximum depth for resolving references. None of our schemas contains itself. */
const DEEPEST = 40

const [before, after] = process.argv.slice(2)
if (before === undefined || after === undefined)
  throw new Error('usage: node scripts/openapi-diff.ts BEFORE.json AFTER.json')

const facts = (path: string): Map<string, string> => {
  const document = JSON.parse(readFileSync(path, 'utf8')) as JsonObject
  const found = new Map<string, string>()
  const { components, ...rest } = document
  collect(rest, '', document, found)
  const { securitySchemes = {} } = components as JsonObject
  collect(securitySchemes, '/securitySchemes', document, found)
  return found
}

/** Collects each value of a document by its path. */
function collect(part: Json, at: string, document: Json, found: Map<string, string>, depth = 0): void {
  if (depth > DEEPEST) throw new Error(`${at} is too deep.`)
  if (part === null || typeof part !== 'object') return void found.set(at, JSON.stringify(part))
  if (Array.isArray(part)) return listed(part, at, document, found, depth)
  const { $ref, ...own } = part
  if (typeof $ref === 'string') collect(resolve($ref, document), at, document, found, depth + 1)
  for (const [key, value] of Object.entries(own)) {
    // Examples and defaults are data, so they are compared as a whole.
    if (key === 'example' || key === 'examples' || key === 'default')
      found.set(`${at}/${key}`, JSON.stringify(value))
    else collect(value, `${at}/${key}`, document, found, depth + 1)
  }
}

/**
 * Collects the items of a list. Parameters and tags are identified by name, strings by value, and alternatives of a
 * union by position.
 */
function listed(list: Json[], at: string, document: Json, found: Map<string, string>, depth: number): void {
  if (list.length === 0) found.set(at, '[]')
  list.forEach((one, index) => {
    if (one === null || typeof one !== 'object') return void found.set(`${at}/${String(one)}`, 'listed')
    const { in: place = '', name } = Array.isArray(one) ? {} : one
    const label =
      typeof name === 'string' ? `${typeof place === 'string' ? place : ''}:${name}` : String(index)
    collect(one, `${at}/${label}`, document, found, depth + 1)
  })
}

const resolve = ($ref: string, document: Json): Json =>
  $ref
    .split('/')
    .slice(1)
    .reduce<Json>((part, key) => (part as JsonObject)[key] ?? null, document)

const [old, now] = [facts(before), facts(after)]
const lost = [...old].filter(([at]) => !now.has(at))
const changed = [...old].filter(([at, value]) => now.has(at) && now.get(at) !== value)
const added = [...now].filter(([at]) => !old.has(at))
for (const [at, value] of lost) console.log(`lost     ${at} ${value}`)
for (const [at, value] of changed) console.log(`changed  ${at}\n  - ${value}\n  + ${now.get(at)}`)
for (const [at, value] of added) console.log(`added    ${at} ${value}`)
console.log(`${old.size} facts: ${lost.length} lost, ${changed.length} changed, ${added.length} added`)
process.exitCode = lost.length + changed.length > 0 ? 1 : 0
