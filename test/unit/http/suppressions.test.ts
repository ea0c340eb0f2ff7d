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

describe('an address', () => {
  test('is shown by id and by address, encoded or not, in any case', async () => {
    const id = await add('Steve+News@Bücher.example')
    const shown = {
      ...{ object: 'suppression', id, email: 'Steve+News@xn--bcher-kva.example', origin: 'manual' },
      ...{ source_id: null, created_at: expect.stringMatching(/\+00$/) as unknown },
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

  test('is removed by id or by address', async () => {
    const [byId, byEmail] = [await add('one@example.com'), await add('two@example.com')]
    const remove = (path: string) => api.call('DELETE', `/suppressions/${path}`, {})
    expect((await remove(byId)).json).toEqual({ object: 'suppression', id: byId, deleted: true })
    expect((await remove('Two%40example.com')).json).toEqual({
      ...{ object: 'suppression', id: byEmail, deleted: true },
    })
    expect((await remove(byId)).text).toBe(notFound)
  })

  test('that is none, or not on the list, is not found', async () => {
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
  ])('%j is refused', async (body, name, message) => {
    expect((await api.call('POST', '/suppressions', body)).text).toBe(errorText(422, name, message))
  })
})

describe('the list', () => {
  test('comes in pages, newest first, and of one origin', async () => {
    const ids: string[] = []
    for (const name of ['x', 'y', 'z']) ids.unshift(await add(`${name}@list.example`))
    const { json } = await api.call('GET', '/suppressions?limit=2&origin=manual')
    expect(json).toMatchObject({ object: 'list', has_more: true, data: [{ id: ids[0] }, { id: ids[1] }] })
    const next = await api.call('GET', `/suppressions?limit=1&after=${ids[1]}`)
    expect(next.json).toMatchObject({ data: [{ id: ids[2], origin: 'manual' }] })
    expect((await api.call('GET', '/suppressions?origin=bounce')).json).toEqual({
      ...{ object: 'list', has_more: false, data: [] },
    })
    expect((await api.call('GET', '/suppressions?origin=luck')).text).toBe(
      errorText(422, 'validation_error', 'Invalid `origin`: one of bounce, complaint, manual.'),
    )
  })
})

describe('many at once', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `many${at}@batch.example`)

  test('are added in order, and removed by address or id', async () => {
    const added = await api.call('POST', '/suppressions/batch/add', { emails: many(100) })
    expect(added.status).toBe(201)
    const { data } = added.json as { data: { object: string; id: string }[] }
    expect(data).toHaveLength(100)
    expect((await api.call('GET', '/suppressions/many7@batch.example')).json).toMatchObject(data[7]!)
    const remove = async (body: object) => (await api.call('POST', '/suppressions/batch/remove', body)).json
    expect(await remove({ emails: ['MANY0@batch.example', 'nobody@batch.example'] })).toEqual({
      object: 'list',
      data: [{ ...data[0], deleted: true }],
    })
    expect(await remove({ ids: [data[1]!.id, newId(0)] })).toEqual({
      object: 'list',
      data: [{ ...data[1], deleted: true }],
    })
  })

  test('are all refused when one is no address', async () => {
    const { text } = await api.call('POST', '/suppressions/batch/add', { emails: ['all@or.example', 'none'] })
    expect(text).toContain('Invalid `emails[1]` field.')
    expect((await api.call('GET', '/suppressions/all@or.example')).text).toBe(notFound)
  })

  test.each([
    ['add', {}, 'missing_required_field', 'Missing `emails` field.'],
    ['add', { emails: [] }, 'validation_error', 'Invalid `emails` field: from 1 to 100 of them at once.'],
    [
      'add',
      { emails: many(101) },
      'validation_error',
      'Invalid `emails` field: from 1 to 100 of them at once.',
    ],
    ['remove', {}, 'missing_required_field', 'Missing `emails` field.'],
    ['remove', { ids: [] }, 'validation_error', 'Invalid `ids` field: from 1 to 100 of them at once.'],
    [
      'remove',
      { ids: [newId(0)], emails: ['a@b.example'] },
      'validation_error',
      'Invalid `emails` field: either `emails` or `ids`, not both.',
    ],
  ])('%s %j is refused', async (verb, body, name, message) => {
    expect((await api.call('POST', `/suppressions/batch/${verb}`, body)).text).toBe(
      errorText(422, name, message),
    )
  })
})
