import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import Database from 'better-sqlite3'
import * as fc from '../world/fast-check.ts'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiDocument, DocumentedOperation } from '../../scripts/generators/openapi.ts'
import { ask, hello, startApi, type Answer, type Api } from '../unit/http/harness.ts'
import { anything, fitting, nasty, place, replaced } from './arbitraries.ts'
import { askRaw, assertShape, numRuns, patience } from './shape.ts'

/**
 * Fuzzes every operation of the API's own document, with bodies that are generated from its schemas and then corrupted.
 */

let api: Api
let document: ApiDocument
let database: Database.Database
let emailId: string
let keyId: string
beforeAll(async () => {
  api = await startApi({ messageBytes: 1_000_000 })
  document = (await ask(`${api.url}/openapi.json`, 'GET')).json as ApiDocument
  database = new Database(join(api.dataDir, 'posthaste.db'), { readonly: true })
  const scheduled = { ...hello, scheduled_at: new Date(api.clock.now() + 3_600_000).toISOString() }
  emailId = ((await api.call('POST', '/emails', scheduled)).json as { id: string }).id
  keyId = ((await api.call('POST', '/api-keys', { name: 'other' })).json as { id: string }).id
  await api.call('POST', '/suppressions', { email: 'gone@customer.example' })
})
afterAll(async () => {
  database.close()
  await api.close()
})

/** What callers can change. Excludes the request log and keys' last use, which change with every request. */
const CONTENTS = [
  'select id, name, tls, sending, receiving, open_tracking, click_tracking, tracking_subdomain from domains',
  'select id, state from dkim_keys',
  'select id, name, permission, domain_id from api_keys',
  'select id, email, origin from suppressions',
  'select count(*), max(id), sum(scheduled_at) from emails',
  "select count(*) from emails where last_event = 'canceled'",
  'select count(*) from deliveries',
  'select count(*) from deliveries where expires_at is not null',
  'select count(*) from events',
  'select count(*) from receipts',
  'select * from quotas',
  'select count(*) from users',
]
const stored = (): string => JSON.stringify(CONTENTS.map((sql) => database.prepare(sql).raw().all()))

/** Waits for background erasure, so that it doesn't happen while the next request is checked. */
async function erased(): Promise<void> {
  const open = (): number =>
    database.prepare<[], number>('select count(*) from erasures where finished_at is null').pluck().get()!
  await expect.poll(open).toBe(0)
}

/** Reports whether a response matches the document. */
const validators = new Map<string, ValidateFunction | undefined>()
function fitsDocument(key: string, operation: DocumentedOperation, { status, json }: Answer): void {
  const at = `${key} ${status}`
  if (!validators.has(at)) {
    const answer = operation.responses[status]
    const schema = answer && 'content' in answer ? answer.content?.['application/json']?.schema : undefined
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'doc', components: document.components })
    const text = JSON.stringify(schema)?.replaceAll('"#/', '"doc#/')
    validators.set(at, text === undefined ? undefined : ajv.compile(JSON.parse(text) as object))
  }
  const fits = validators.get(at)
  if (fits) expect(fits(json), `${at}: ${JSON.stringify(fits.errors)}`).toBe(true)
}

const send = (method: string, path: string, body?: string, headers?: Record<string, string>) =>
  askRaw(api.url, method, path, body, { authorization: `Bearer ${api.full}`, ...headers })

interface Request {
  key: string
  operation: DocumentedOperation
  method: string
  path: string
  body: unknown
  headers: Record<string, string>
}

/** IDs that a careless client, proxy or router might treat as part of the path. */
const ODD_IDS = [
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '..%2f',
  '%2e%2e%2f%2e%2e%2femails',
  '%2f',
  '%5c..%5c',
  '%252e%252e',
]
const LONG_IDS = ['x'.repeat(900), 'x'.repeat(5000), '%2e'.repeat(1000)]

const segment = () =>
  fc.oneof(
    fc.constantFrom(emailId, keyId, api.unverified.id, api.unverified.id.toUpperCase()),
    fc.constantFrom(
      'gone@customer.example',
      'gone%40customer.example',
      '0199c0de-0000-7000-8000-000000000000',
    ),
    fc.constantFrom(
      '',
      'x'.repeat(20_000),
      '%00',
      '%zz',
      '*',
      ':id',
      'null',
      '-1',
      "'%20or%201=1--",
      ...ODD_IDS,
      ...LONG_IDS,
    ),
    fc.uuid(),
    fc.string({ unit: 'binary', minLength: 1 }).map((text) => encodeURIComponent(text.toWellFormed())),
  )

const headerValue = fc.oneof(
  fc.constantFrom('', 'strict', 'permissive', 'x', 'k'.repeat(257), '\u00e9', 'a, b', '"', '{}'),
  fc.stringMatching(/^[\x21-\x7e]{1,40}$/),
)
const queryValue = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    '100',
    '101',
    '-1',
    '1e2',
    '0x1',
    'null',
    '%00',
    '%zz',
    '0199c0de-0000-7000-8000-000000000000',
  ),
  fc.string().map((text) => encodeURIComponent(text.toWellFormed())),
)

/**
 * These have their own tests. Signing in hashes a password each time and is throttled, the doctor makes external
 * requests, and an event stream doesn't end.
 */
const APART = ['/session', '/doctor', '/live']

function requests(): fc.Arbitrary<Request> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const tried = operations.filter(({ path }) => !APART.includes(path))
  return fc.constantFrom(...tried).chain(({ path, method, operation }) => {
    const schema = operation.requestBody?.content['application/json']?.schema
    const fit = schema ? fitting(schema, document.components.schemas) : anything
    const spoiled = fc.tuple(fit, place, anything).map(([body, steps, by]) => replaced(body, steps, by))
    const names = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name)
    return fc.record({
      key: fc.constant(`${method} ${path}`),
      operation: fc.constant(operation),
      method: fc.constant(method),
      path: fc
        .tuple(
          fc.array(segment(), { minLength: 3, maxLength: 3 }),
          fc.array(fc.tuple(fc.constantFrom('limit', 'x', ...names), queryValue), { maxLength: 3 }),
        )
        .map(([ids, query]) => {
          const filled = path.replaceAll(/\{\w+\}/g, () => ids.pop()!)
          return query.length === 0
            ? filled
            : `${filled}?${query.map(([name, value]) => `${name}=${value}`).join('&')}`
        }),
      body: schema
        ? fc.oneof(fit, spoiled, nasty)
        : fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, nasty),
      headers: fc.dictionary(
        fc.constantFrom('idempotency-key', 'x-batch-validation', 'user-agent', 'accept'),
        headerValue,
        {
          maxKeys: 2,
        },
      ),
    })
  })
}

test(
  'every operation handles generated requests, and rejected requests change nothing',
  patience,
  async () => {
    const seen = new Map<string, Set<number>>()
    await fc.assert(
      fc.asyncProperty(requests(), async ({ key, operation, method, path, body, headers }) => {
        const before = stored()
        const json = body === undefined || method === 'GET' ? undefined : JSON.stringify(body)
        const answer = await send(method, path, json, headers)
        assertShape(answer)
        if (key === 'POST /erasures') await erased()
        if (answer.status >= 400 || method === 'GET') expect(stored()).toBe(before)
        // Without an ID, the path is that of the list.
        const complete = !/\/(?:\/|\?|$)/.test(path)
        if (answer.status < 400 && complete) fitsDocument(key, operation, answer)
        seen.set(key, (seen.get(key) ?? new Set()).add(answer.status))
      }),
      { numRuns: numRuns * 40 },
    )
    // The generator gets past the first check: most kinds of responses occur.
    const statuses = new Set([...seen.values()].flatMap((own) => [...own]))
    for (const status of [200, 201, 404, 422]) expect(statuses).toContain(status)
  },
)

describe('an ID that looks like part of a path', () => {
  const withIds = () => Object.entries(document.paths).filter(([path]) => path.includes('{'))

  test.each([...ODD_IDS, ...LONG_IDS].map((id) => [id.slice(0, 30), id.length, id] as const))(
    'an ID that looks like part of a path reaches no other operation: %s, %i characters',
    async (_short, _length, id) => {
      const before = stored()
      for (const [path, methods] of withIds())
        for (const method of Object.keys(methods)) {
          const answer = await send(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, id))
          const key = `${method} ${path} ${answer.text}`
          // Returning from an unknown identity provider redirects to the sign-in page.
          if (path === '/session/oidc/{id}/callback' && answer.status === 302)
            expect(answer.headers.get('location'), key).toMatch(/^\/dashboard\/sign-in/)
          else expect([401, 404, 405, 422], key).toContain(answer.status)
          assertShape(answer)
        }
      expect(stored()).toBe(before)
    },
  )

  test('a request with an empty ID reaches at most the list operation, which only reads', async () => {
    const before = stored()
    for (const [path, methods] of withIds())
      for (const method of Object.keys(methods)) {
        const without = path.replaceAll(/\{\w+\}/g, '')
        const answer = await send(method.toUpperCase(), without)
        assertShape(answer)
        const list = document.paths[without.slice(0, -1)]?.get
        if (method === 'get' && list) expect(answer.status, path).toBe(200)
        if (answer.status === 200) fitsDocument(`get ${without}`, list!, answer)
        else expect([401, 404, 405, 422], `${method} ${path} ${answer.text}`).toContain(answer.status)
      }
    expect(stored()).toBe(before)
  })
})
