import { Ajv2020 } from 'ajv/dist/2020.js'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation as Contract } from '../../../appliance/api/operation.ts'
import type { ApiDocument, Operation } from '../../../appliance/http/openapi.ts'
import type { Schema } from '../../../appliance/http/openapi-components.ts'
import { ask, startApi, type Api } from './harness.ts'

const root = join(import.meta.dirname, '../../../appliance')

let api: Api
let document: ApiDocument
beforeAll(async () => {
  api = await startApi({ sandboxInbox: { list: () => [], get: async () => undefined } })
  document = (await ask(`${api.url}/openapi.json`, 'GET')).json as ApiDocument
})
afterAll(() => api.close())

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )

/** The fields within a schema that lack a description; a named part brings that of its component. */
function undescribed(at: string, schema: Schema): string[] {
  const { properties = {}, anyOf = [], items, additionalProperties } = schema
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : []
  return [
    ...Object.entries(properties).flatMap(([name, part]) => [
      ...(part.description || part.$ref ? [] : [`${at}.${name}`]),
      ...undescribed(`${at}.${name}`, part),
    ]),
    ...[...anyOf, ...(items ? [items] : []), ...values].flatMap((part) => undescribed(at, part)),
  ]
}

describe('GET /openapi.json', () => {
  test('needs no key and may be kept', async () => {
    const { status, headers } = await ask(`${api.url}/openapi.json`, 'GET')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('public, max-age=300')
  })

  test('every operation is served, and every route is described', async () => {
    const contracts = await Promise.all(
      readdirSync(join(root, 'api')).map(
        async (file) => (await import(join(root, 'api', file))) as Record<string, unknown>,
      ),
    )
    const declared = contracts
      .flatMap((module) => Object.values(module))
      .filter((one): one is Contract => one !== null && typeof one === 'object' && 'access' in one)
      .map(({ method, url }) => `${method} ${url}`)
    const described = declared.map((key) => key.replaceAll(/:(\w+)/g, '{$1}'))
    expect(declared.length).toBeGreaterThan(100)
    expect(
      operations()
        .map(([key]) => key)
        .sort(),
    ).toEqual(described.sort())
  })

  test('every module of schemas gives its exports a name', () => {
    const source = readFileSync(join(root, 'http', 'openapi-components.ts'), 'utf8')
    const withOperations = readdirSync(join(root, 'api')).filter((file) =>
      readFileSync(join(root, 'api', file), 'utf8').includes(' = operation('),
    )
    expect(withOperations.length).toBeGreaterThan(30)
    expect(withOperations.filter((file) => !source.includes(`'../api/${file}'`))).toEqual([])
  })

  test('only pages, files and links for browsers and authorities are routes without an operation', () => {
    const routes = globSync('http/**/*.ts', { cwd: root }).filter((file) =>
      /\bapp\.(get|post|put|patch|delete|all)\(/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(routes.sort()).toEqual([
      'http/dashboard.ts',
      'http/routes/openapi.ts',
      'http/routes/preferences.ts',
      'http/routes/shares.ts',
      'http/routes/tls.ts',
      'http/routes/tracking.ts',
    ])
  })

  test('operation ids are unique', () => {
    const ids = operations().map(([, { operationId }]) => operationId)
    expect(ids).toEqual([...new Set(ids)])
  })

  test('every reference leads somewhere and every component is used', () => {
    const text = JSON.stringify(document)
    const used = new Set(
      [...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
    )
    const { schemas, responses } = document.components
    const there = [
      ...Object.keys(schemas).map((name) => `schemas/${name}`),
      ...Object.keys(responses).map((name) => `responses/${name}`),
    ]
    expect([...used].filter((name) => !there.includes(name))).toEqual([])
    expect(Object.keys(schemas)).toContain('Email')
    expect(Object.keys(schemas).filter((name) => !used.has(`schemas/${name}`))).toEqual([])
  })

  test('every operation says who may call it and how it can fail', () => {
    for (const [key, { security, responses, summary }] of operations()) {
      expect(summary, key).toMatch(/^\S/)
      expect(responses, key).toHaveProperty('500')
      if (security.length > 0) expect(responses, key).toHaveProperty('401')
    }
  })

  test('every parameter, body, answer and field has a description', () => {
    const schemas = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
      ...(schema.description ? [] : [name]),
      ...undescribed(name, schema),
    ])
    const others = operations().flatMap(([key, { parameters = [], requestBody, responses }]) => {
      const answers = Object.entries(responses).map(([status, part]) => ({ at: `${key} ${status}`, part }))
      const bodies = requestBody ? [{ at: `${key} body`, part: requestBody }] : []
      return [
        ...parameters.filter(({ description }) => !description).map(({ name }) => `${key} ${name}`),
        ...[...bodies, ...answers].flatMap(({ at, part }) => [
          ...('$ref' in part || (part.description && part.description !== 'OK') ? [] : [at]),
          ...('content' in part ? Object.values(part.content ?? {}) : []).flatMap((content) =>
            undescribed(at, content!.schema),
          ),
        ]),
      ]
    })
    expect([...schemas, ...others]).toEqual([])
  })

  test('every body and answer has an example, which fits its schema', () => {
    const ajv = new Ajv2020({ strict: false, formats: { uuid: /^[0-9a-f-]{36}$/, 'date-time': /T.*Z$/ } })
    ajv.addSchema({ $id: 'doc', components: document.components })
    for (const [key, { requestBody, responses }] of operations()) {
      const contents = [requestBody, ...Object.values(responses)].flatMap((part) =>
        part && 'content' in part ? (part.content?.['application/json'] ?? []) : [],
      )
      for (const { schema, example } of contents) {
        const fits = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')) as object)
        expect(fits(example), `${key}: ${JSON.stringify(example)} ${JSON.stringify(fits.errors)}`).toBe(true)
      }
    }
  })
})

describe('GET /docs', () => {
  test('is one page without scripts or anything from elsewhere', async () => {
    const { status, headers, text } = await ask(`${api.url}/docs`, 'GET')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).not.toContain('script-src')
    expect(text).not.toMatch(/<script|<link|<img|src=/)
    expect((await ask(`${api.url}/docs/`, 'GET')).status).toBe(200)
  })

  test('has every operation, and links only to what it has', async () => {
    const { text } = await ask(`${api.url}/docs`, 'GET')
    const anchors = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
    for (const [, { operationId }] of operations()) expect(anchors).toContain(operationId)
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(links.filter((id) => !anchors.has(id))).toEqual([])
  })
})
