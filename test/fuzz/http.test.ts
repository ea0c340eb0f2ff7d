import * as fc from '../world/fast-check.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hello, startApi, type Answer, type Api } from '../unit/http/harness.ts'
import { anything, place, replaced } from './arbitraries.ts'
import { askRaw, assertShape, numRuns, patience } from './shape.ts'

let api: Api
beforeAll(async () => {
  api = await startApi({ messageBytes: 1_000_000 })
})
afterAll(() => api.close())

/** Returns the ID of the email stored last. */
const newest = async () =>
  (await api.storage.listEmails({ teamId: api.teamId, limit: 1 }, api.clock.now())).items[0]?.id

/** Sends a body. A refusal must store nothing, and an acceptance exactly one email. */
async function send(body: unknown): Promise<Answer> {
  const before = await newest()
  const answer = await api.call('POST', '/emails', body)
  assertShape(answer)
  expect(await newest()).toBe(answer.status === 200 ? (answer.json as { id: string }).id : before)
  return answer
}

const field = fc.oneof(
  fc.constantFrom(
    'from',
    'to',
    'cc',
    'bcc',
    'reply_to',
    'subject',
    'html',
    'text',
    'headers',
    'attachments',
    'tags',
  ),
  fc.constantFrom('scheduled_at', 'topic_id', 'template', '__proto__', 'constructor'),
  fc.string(),
)

const valid = {
  ...hello,
  cc: ['carl@example.com'],
  bcc: 'Dora <dora@example.org>',
  reply_to: ['help@acme.example'],
  html: '<p>Hi <b>Bob</b></p>',
  headers: { 'X-Ref': '1', 'List-Unsubscribe': '<https://acme.example/u>' },
  tags: [{ name: 'kind', value: 'fuzz' }],
  attachments: [{ filename: 'a.txt', content: 'QUJD', content_type: 'text/plain', content_id: 'a' }],
}

describe('POST /emails', patience, () => {
  test('accepts the email that the other tests mutate', async () => {
    expect((await send(valid)).status).toBe(200)
  })

  test('handles any JSON', async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (body) => void (await send(JSON.stringify(body)))),
      { numRuns },
    )
  })

  test('handles any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1 }), async (body) => void (await send(body))),
      { numRuns },
    )
  })

  test('handles a valid email with up to three places changed', async () => {
    const changes = fc.array(fc.tuple(place, anything), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(changes, async (places) => {
        await send(
          JSON.stringify(places.reduce<unknown>((body, [steps, by]) => replaced(body, steps, by), valid)),
        )
      }),
      { numRuns },
    )
  })

  test('handles a valid email with fields added, emptied or overwritten', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(field, anything, { maxKeys: 4 }), async (fields) => {
        await send(JSON.stringify({ ...valid, ...fields }))
      }),
      { numRuns },
    )
  })

  test('handles any text in headers, names, values, file names and tags', async () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string())
    await fc.assert(
      fc.asyncProperty(text, text, text, async (one, two, three) => {
        for (const fields of [
          { subject: one, html: two, text: three },
          {
            from: `${one} <hi@acme.example>`,
            to: [`"${two}" <bob@example.com>`],
            cc: `${three}@example.com`,
          },
          { headers: { [one]: two, 'X-Three': three } },
          { attachments: [{ filename: one, content: 'QUJD', content_type: two, content_id: three }] },
          { tags: [{ name: one, value: two }], reply_to: three },
        ])
          await send({ ...valid, ...fields })
      }),
      { numRuns: Math.ceil(numRuns / 4) },
    )
  })
})

test(
  'every path, method and query gets a well-formed response, with or without a key',
  patience,
  async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'emails',
        'domains',
        'logs',
        'docs',
        'openapi.json',
        'suppressions',
        'session',
        'dashboard',
        'healthz',
        'email',
        'sending',
        'source',
        'timeline',
      ),
      fc.constantFrom('..', '.', '%2e%2e', '%00', '%zz', '', '*', ':id', '%2f', 'a@b', '%F0%28%8C%28'),
      fc.uuid(),
      fc.webPath(),
    )
    const request = fc.record({
      method: fc.constantFrom(
        'GET',
        'HEAD',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'PROPFIND',
        'SEARCH',
      ),
      path: fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
      query: fc.oneof(
        fc.webQueryParameters(),
        fc.constantFrom('limit=9e9', 'limit[]=1', 'after=%zz', 'before=\u0000'),
      ),
      authorization: fc.constantFrom(undefined, 'Bearer re_x', 'Bearer', 'full'),
      cookie: fc.constantFrom(undefined, 'posthaste_session=x', 'posthaste_session="', '=;=;%'),
      type: fc.constantFrom(
        undefined,
        'application/json',
        'text/html',
        ';',
        'multipart/form-data; boundary=x',
      ),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, query, authorization, cookie, type }) => {
        const before = await newest()
        const headers = {
          ...(authorization === undefined
            ? {}
            : { authorization: authorization === 'full' ? `Bearer ${api.full}` : authorization }),
          ...(cookie === undefined ? {} : { cookie }),
          ...(type === undefined ? {} : { 'content-type': type }),
        }
        const answer = await askRaw(api.url, method, `${path}?${query}`, undefined, headers)
        // HEAD has no body. The dashboard isn't built here, so its page responds with 503.
        if (method === 'HEAD' || answer.headers.get('content-type')?.startsWith('text/html')) return
        assertShape(answer)
        expect(await newest()).toBe(before)
      }),
      { numRuns },
    )
  },
)
