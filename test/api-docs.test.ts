import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { REFUSALS } from '../appliance/mail/refusals.ts'
import type { ApiDocument } from '../scripts/generators/openapi.ts'

/** What pages say of operations and fields stands in the OpenAPI document. */

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const document = JSON.parse(read('appliance/api/openapi.json')) as ApiDocument

/** Pages about the hosted API, and about what was decided at the time. */
const OTHERS = ['docs/api-compatibility.md', 'docs/migrating.md', 'docs/decisions/']
const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })].filter(
  (page) => !OTHERS.some((other) => page.startsWith(other)),
)

/** The operations, each with what its requests look like and the names of its query parameters. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { parameters = [] }]) => ({
    request: new RegExp(
      `^${method.toUpperCase()} ${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`,
    ),
    query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
  })),
)

/** Whether a request such as `GET /emails/:id?limit=` is an operation with these query parameters. */
function isOperation(text: string): boolean {
  const [request = '', query = ''] = text.split('?')
  const names = [...query.matchAll(/([a-z_]+)=/g)].map(([, name]) => name!)
  return operations.some(
    (one) => one.request.test(request) && names.every((name) => one.query.includes(name)),
  )
}

test('every request named in the docs is an API operation with those query parameters', () => {
  expect(isOperation('GET /emails/:id/nothing')).toBe(false)
  expect(isOperation('GET /suppressions?nothing=')).toBe(false)
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`/g)].map(([, text]) => ({
      page,
      text: text!,
    })),
  )
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter(({ text }) => !isOperation(text)).map(({ page, text }) => `${page}: ${text}`)).toEqual(
    [],
  )
})

/** Fields of a line of the log, which is not the API. */
const LOGGED = ['dropped_headers']

/** Names of fields, parameters and constants anywhere within the document. */
function namesIn(part: unknown, into = new Set<string>()): Set<string> {
  if (typeof part === 'string') into.add(part)
  if (typeof part !== 'object' || part === null) return into
  for (const [key, value] of Object.entries(part)) {
    into.add(key)
    if (key !== 'description' && key !== 'summary') namesIn(value, into)
  }
  return into
}

test('every field named in docs/api.md is in the OpenAPI document', () => {
  const known = namesIn(document)
  const more = [...Object.values(REFUSALS).map(({ name }): string => name), ...LOGGED]
  const text = read('docs/api.md').replaceAll(/^```[^]*?^```/gm, '')
  const named = [...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((name) => !known.has(name) && !more.includes(name))).toEqual([])
})
