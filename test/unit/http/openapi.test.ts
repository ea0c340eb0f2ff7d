import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Schema } from '../../../appliance/api/shared.ts'
import type { ApiDocument, DocumentedOperation } from '../../../scripts/generators/openapi.ts'
import { ask, startApi, type Api } from './harness.ts'

const root = join(import.meta.dirname, '../../../appliance')

let api: Api
let document: ApiDocument
beforeAll(async () => {
  api = await startApi({ sandboxInbox: { list: () => [], get: async () => undefined } })
  document = (await ask(`${api.url}/openapi.json`, 'GET')).json as ApiDocument
})
afterAll(() => api.close())

const operations = (): [string, DocumentedOperation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, DocumentedOperation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )

/** Returns the fields in a schema that lack a description. References use their component's description. */
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
  test('GET /openapi.json needs no key and can be cached', async () => {
    const { status, headers } = await ask(`${api.url}/openapi.json`, 'GET')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('public, max-age=300')
  })

  test('the document is valid OpenAPI 3.1 according to an independent validator', async () => {
    expect(await new Validator().validate({ ...document })).toEqual({ valid: true })
  })

  test('the document has the program version, and includes sandbox operations only in the sandbox', async () => {
    expect(document.info.version).toBe('0.0.0')
    expect(document.paths).toHaveProperty('/sandbox/messages')
    const plain = await startApi()
    const { paths, tags } = (await ask(`${plain.url}/openapi.json`, 'GET')).json as ApiDocument
    await plain.close()
    expect(Object.keys(paths)).toEqual(
      Object.keys(document.paths).filter((path) => !path.startsWith('/sandbox')),
    )
    expect(tags).toEqual(document.tags.filter(({ name }) => name !== 'Sandbox'))
  })

  test('every operation is served', async () => {
    const unknown: string[] = []
    for (const [key] of operations()) {
      const [method = '', path = ''] = key.split(' ')
      const { status, text } = await ask(`${api.url}${path.replaceAll(/\{\w+\}/g, 'x')}`, method)
      const isUnknown = status === 404 && text.includes('The requested endpoint does not exist')
      if (isUnknown || status === 405) unknown.push(key)
    }
    expect(operations().length).toBeGreaterThan(100)
    expect(unknown).toEqual([])
  })

  test('all routes have an operation, except pages, files and links for browsers and authorities', () => {
    const routes = globSync('http/**/*.ts', { cwd: root }).filter((file) =>
      /\bapp\.(get|post|put|patch|delete|all)\(/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(routes.sort()).toEqual([
      'http/dashboard.ts',
      'http/routes/archive-pages.ts',
      'http/routes/preferences.ts',
      'http/routes/shares.ts',
      'http/routes/sign-ups.ts',
      'http/routes/tls.ts',
      'http/routes/tracking.ts',
    ])
  })

  test('operation IDs are unique', () => {
    const ids = operations().map(([, { operationId }]) => operationId)
    expect(ids).toEqual([...new Set(ids)])
  })

  test('every reference resolves and every component is used', () => {
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

  test('every list has the same envelope', () => {
    const lists: Schema[] = []
    JSON.parse(JSON.stringify(document), (_, value: Schema | null) => {
      if (value?.properties?.object?.const === 'list') lists.push(value)
      return value
    })
    expect(lists.length).toBeGreaterThan(40)
    for (const { description, required } of lists)
      expect(required, description).toEqual(expect.arrayContaining(['object', 'has_more', 'data']))
  })

  test('every operation documents who may call it and how it can fail', () => {
    for (const [key, { security, responses, summary }] of operations()) {
      expect(summary, key).toMatch(/^\S/)
      expect(responses, key).toHaveProperty('500')
      if (security.length > 0) expect(responses, key).toHaveProperty('401')
    }
  })

  test('every parameter, body, response and field has a description', () => {
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

  test('every request body and response has an example that matches its schema', () => {
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
