import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { errorText, startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const notFound = errorText(404, 'not_found', 'Suppression not found')
const add = async (email: string): Promise<string> => {
  const { status, json } = await api.call('POST', '/suppressions', { email })
  expect([status, json]).toEqual([201, { object: 'suppression', id: expect.any(String) as unknown }])
  return (json as { id: string }).id
}

describe('a suppression', () => {
  test('a suppression can be read by ID and by address, encoded or not, in any case', async () => {
    const id = await add('Steve+News@Bücher.example')
    const shown = {
      object: 'suppression',
      id,
      email: 'Steve+News@xn--bcher-kva.example',
      origin: 'manual',
      source_id: null,
      created_at: expect.stringMatching(/\+00$/) as unknown,
      reason: null,
      reply: null,
      removed_at: null,
    }
    for (const path of [
      id,
      id.toUpperCase(),
      'steve+news@xn--bcher-kva.example',
      'STEVE%2BNEWS%40b%C3%BCcher.example/',
    ])
      expect((await api.call('GET', `/suppressions/${path}`)).json).toEqual(shown)
    expect(await add('steve+news@BÜCHER.example')).toBe(id)
  })

  test('a suppression can be removed by ID or by address', async () => {
    const [byId, byEmail] = [await add('one@example.com'), await add('two@example.com')]
    const remove = (path: string) => api.call('DELETE', `/suppressions/${path}`, {})
    expect((await remove(byId)).json).toEqual({ object: 'suppression', id: byId, deleted: true })
    expect((await remove('Two%40example.com')).json).toEqual({
      object: 'suppression',
      id: byEmail,
      deleted: true,
    })
    expect((await remove(byId)).text).toBe(notFound)
  })

  test('returns 404 for an address that is invalid or not on the list', async () => {
    for (const path of [newId(0), 'nobody@example.com', 'nonsense', '%40'])
      expect((await api.call('GET', `/suppressions/${path}`)).text).toBe(notFound)
  })

  test.each([
    [{}, 'missing_required_field', 'Missing `email` field.'],
    [{ email: [] }, 'validation_error', 'Invalid `email` field: it must be a string.'],
    [
      { email: 'nonsense' },
      'validation_error',
      'Invalid `email` field. The email address needs to follow the `email@example.com` or `Name <email@example.com>` format.',
    ],
  ])('rejects the suppression %j', async (body, name, message) => {
    expect((await api.call('POST', '/suppressions', body)).text).toBe(errorText(422, name, message))
  })
})

describe('the suppression list', () => {
  test('the suppression list is returned newest first, in pages, filtered by origin', async () => {
    const ids: string[] = []
    for (const name of ['x', 'y', 'z']) ids.unshift(await add(`${name}@list.example`))
    const { json } = await api.call('GET', '/suppressions?limit=2&origin=manual')
    expect(json).toMatchObject({ object: 'list', has_more: true, data: [{ id: ids[0] }, { id: ids[1] }] })
    const next = await api.call('GET', `/suppressions?limit=1&after=${ids[1]}`)
    expect(next.json).toMatchObject({ data: [{ id: ids[2], origin: 'manual' }] })
    expect((await api.call('GET', '/suppressions?origin=bounce')).json).toEqual({
      object: 'list',
      has_more: false,
      data: [],
    })
    expect((await api.call('GET', '/suppressions?origin=luck')).text).toBe(
      errorText(422, 'validation_error', 'Invalid `origin`: one of bounce, complaint, manual.'),
    )
  })
})

describe('batches of suppressions', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `many${at}@batch.example`)

  test('a batch of suppressions is added in order, and removed by address or ID', async () => {
    const added = await api.call('POST', '/suppressions/batch/add', { emails: many(100) })
    expect(added.status).toBe(201)
    const { data } = added.json as { data: { object: string; id: string }[] }
    expect(data).toHaveLength(100)
    expect((await api.call('GET', '/suppressions/many7@batch.example')).json).toMatchObject(data[7]!)
    const remove = async (body: object) => (await api.call('POST', '/suppressions/batch/remove', body)).json
    expect(await remove({ emails: ['MANY0@batch.example', 'nobody@batch.example'] })).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...data[0], deleted: true }],
    })
    expect(await remove({ ids: [data[1]!.id, newId(0)] })).toEqual({
      object: 'list',
      has_more: false,
      data: [{ ...data[1], deleted: true }],
    })
    // Typed clients send unset fields as null.
    expect(await remove({ ids: null, emails: ['many2@batch.example'] })).toMatchObject({ data: [data[2]] })
    expect(await remove({ ids: [data[3]!.id], emails: null })).toMatchObject({ data: [data[3]] })
  })

  test('a batch of suppressions is rejected as a whole if one address is invalid', async () => {
    const { text } = await api.call('POST', '/suppressions/batch/add', { emails: ['all@or.example', 'none'] })
    expect(text).toContain('Invalid `emails[1]` field.')
    expect((await api.call('GET', '/suppressions/all@or.example')).text).toBe(notFound)
  })

  test.each([
    ['add', {}, 'missing_required_field', 'Missing `emails` field.'],
    ['add', { emails: [] }, 'validation_error', 'Invalid `emails` field: 1 to 100 at a time.'],
    ['add', { emails: many(101) }, 'validation_error', 'Invalid `emails` field: 1 to 100 at a time.'],
    ['remove', {}, 'missing_required_field', 'Missing `emails` field.'],
    ['remove', { ids: null, emails: null }, 'missing_required_field', 'Missing `emails` field.'],
    ['remove', { ids: [] }, 'validation_error', 'Invalid `ids` field: 1 to 100 at a time.'],
    [
      'remove',
      { ids: [newId(0)], emails: ['a@b.example'] },
      'validation_error',
      'Invalid `emails` field: either `emails` or `ids`, not both.',
    ],
  ])('rejects a batch for %s %j', async (verb, body, name, message) => {
    expect((await api.call('POST', `/suppressions/batch/${verb}`, body)).text).toBe(
      errorText(422, name, message),
    )
  })
})

describe('a suppression list as CSV', () => {
  const importing = async (body: object) => {
    const { status, json } = await api.call('POST', '/suppressions/import', body)
    expect(status).toBe(200)
    return json as Record<string, unknown>
  }
  const csv = [
    'Email,Created_At,origin,shoe size',
    'one@csv.example,2026-01-02T03:04:05Z,bounce,42',
    '"=2+3@csv.example",,complaint,',
    'nonsense,,,',
    'ONE@csv.example,,,',
    '',
    'two@csv.example,,luck,',
    'three@csv.example,2999-01-01T00:00:00Z,,',
    'four@csv.example,,,',
  ].join('\r\n')
  const told = {
    object: 'suppression_import',
    lines: 7,
    added: 3,
    present: 1,
    invalid: 3,
    examples: [
      { line: 4, text: 'nonsense', expected: 'an email address' },
      { line: 7, text: 'luck', expected: 'an origin: bounce, complaint, manual' },
      {
        line: 8,
        text: '2999-01-01T00:00:00Z',
        expected: 'a past time in ISO 8601, such as 2026-11-20T08:15:00Z',
      },
    ],
    first: ['one@csv.example', '=2+3@csv.example', 'four@csv.example'],
    ignored_columns: ['shoe size'],
  }

  test('a CSV file can be previewed, imported, and imported again without a change', async () => {
    expect(await importing({ csv, preview: true })).toEqual({ ...told, preview: true })
    expect((await api.call('GET', '/suppressions/one@csv.example')).text).toBe(notFound)
    expect(await importing({ csv })).toEqual({ ...told, preview: false })
    expect((await api.call('GET', '/suppressions/one@csv.example')).json).toMatchObject({
      origin: 'bounce',
      created_at: '2026-01-02 03:04:05+00',
    })
    expect((await api.call('GET', '/suppressions/four@csv.example')).json).toMatchObject({ origin: 'manual' })
    expect(await importing({ csv })).toMatchObject({ added: 0, present: 4, first: [] })
  })

  test('a CSV file may contain addresses only, with the origin from the request', async () => {
    const bare = 'bare1@csv.example\nBare Two <bare2@csv.example>\n'
    expect(await importing({ csv: bare, origin: 'complaint' })).toMatchObject({ lines: 2, added: 2 })
    expect((await api.call('GET', '/suppressions/bare2@csv.example')).json).toMatchObject({
      email: 'bare2@csv.example',
      origin: 'complaint',
    })
  })

  test('the CSV export accepts a search, and its result can be imported again', async () => {
    const many = Array.from({ length: 1100 }, (_, at) => `bulk${at}@export.example`)
    expect(await importing({ csv: many.join('\n') })).toMatchObject({ added: 1100 })
    const exported = await api.call('GET', '/suppressions/export?search=@EXPORT.example')
    expect(exported.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    const lines = exported.text.trimEnd().split('\r\n')
    expect(lines[0]).toBe('email,origin,created_at,source_id,reason,reply')
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(many.toReversed())
    expect(await importing({ csv: exported.text })).toMatchObject({
      lines: 1100,
      added: 0,
      present: 1100,
      invalid: 0,
      ignored_columns: [],
    })
    const formula = await api.call('GET', '/suppressions/export?origin=complaint&search=%3D2')
    expect(formula.text).toContain("\r\n'=2+3@csv.example,complaint,")
  })

  test('rejects an import without CSV or with too many lines', async () => {
    const refused = async (body: object) => (await api.call('POST', '/suppressions/import', body)).text
    expect(await refused({ csv: 'x\n'.repeat(100_001) })).toBe(
      errorText(
        ...([422, 'validation_error', 'Invalid `csv` field: at most 100000 lines; split the file.'] as const),
      ),
    )
    expect(await refused({})).toBe(errorText(422, 'missing_required_field', 'Missing `csv` field.'))
    expect(await refused({ csv: '', origin: 'luck' })).toContain('origin')
  })

  test('suppressions can be searched by part of an address', async () => {
    const { json } = await api.call('GET', '/suppressions?search=BARE')
    expect((json as { data: { email: string }[] }).data.map(({ email }) => email)).toEqual([
      'bare2@csv.example',
      'bare1@csv.example',
    ])
    expect((await api.call('GET', '/suppressions?search=a&search=b')).text).toBe(
      errorText(422, 'validation_error', 'Invalid `search`: a single string of at most 254 characters.'),
    )
    expect((await api.call('GET', '/suppressions?search=%00')).text).toBe(
      errorText(422, 'validation_error', 'Invalid `search`: text without NUL characters.'),
    )
  })
})
