import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { BLOCK_SAMPLES } from '../document/samples.ts'
import { startApi, type Api } from './harness.ts'

/** Tests that what a draft said before is listed, read and brought back. */

let api: Api
let segmentId: string
beforeAll(async () => {
  api = await startApi()
  segmentId = ((await api.call('POST', '/segments', { name: 'Readers' })).json as { id: string }).id
})
afterAll(() => api.close())

interface Version {
  id: string
  subject: string
  author: string
}
const MINUTE = 60_000
const make = async (more: object = {}): Promise<string> => {
  const about = { segment_id: segmentId, from: 'Shop <shop@acme.example>', subject: 'One', html: '<p>1</p>' }
  const { status, json } = await api.call('POST', '/broadcasts', { ...about, ...more })
  expect([status, json]).toMatchObject([201, { object: 'broadcast' }])
  return (json as { id: string }).id
}
const read = async (id: string) =>
  (await api.call('GET', `/broadcasts/${id}`)).json as Record<string, unknown> & { edits: number }
async function change(id: string, body: object, later = 6 * MINUTE): Promise<void> {
  await api.clock.set(api.clock.now() + later)
  expect((await api.call('PATCH', `/broadcasts/${id}`, body)).status).toBe(200)
}
const versions = async (id: string) =>
  ((await api.call('GET', `/broadcasts/${id}/versions`)).json as { data: Version[] }).data
const restore = (id: string, version: string, body?: object) =>
  api.call('POST', `/broadcasts/${id}/versions/${version}/restore`, body)

test('versions of a draft store its content and author, and can be restored', async () => {
  const id = await make({ preview_text: 'Read', reply_to: 'a@acme.example' })
  await change(id, { subject: 'Two', html: '<p>2</p>' })
  await change(id, { subject: 'Three' }, MINUTE)
  const before = await versions(id)
  expect(before.map((one) => one.subject)).toEqual(['Three', 'One'])
  expect(before[0]!.author).toMatch(/^API key /)
  const path = `/broadcasts/${id}/versions/${before[1]!.id}`
  expect((await api.call('GET', path)).json).toEqual({
    object: 'broadcast_version',
    broadcast_id: id,
    ...before[1],
    from: 'Shop <shop@acme.example>',
    reply_to: ['a@acme.example'],
    preview_text: 'Read',
    html: '<p>1</p>',
    text: null,
    document: null,
    ab_test: null,
  })
  expect(await restore(id, before[1]!.id)).toMatchObject({ status: 200, json: { object: 'broadcast', id } })
  expect(await read(id)).toMatchObject({ subject: 'One', html: '<p>1</p>', edits: 3, segment_id: segmentId })
  expect((await versions(id)).map((one) => one.subject)).toEqual(['One', 'Three', 'One'])
})

test('restoring a version brings back blocks that were converted to code', async () => {
  const document = { version: 1, content: [BLOCK_SAMPLES.paragraph!, BLOCK_SAMPLES.footer!] }
  const id = await make({ html: undefined, document })
  const blocks = await read(id)
  await change(id, { html: '<p>Code</p>' }, 1)
  expect(await read(id)).toMatchObject({ document: null })
  const [, first] = await versions(id)
  await restore(id, first!.id, { edits: 1 })
  const { document: stored, html, text } = blocks
  expect(await read(id)).toMatchObject({ document: stored, html, text })
})

test('does not overwrite a draft that somebody else changed in the meantime', async () => {
  const id = await make()
  const [first] = await versions(id)
  await change(id, { subject: 'Theirs' })
  expect(await restore(id, first!.id, { edits: 0 })).toMatchObject({ status: 409 })
  expect(await read(id)).toMatchObject({ subject: 'Theirs' })
})

test('cannot restore a version once the broadcast has started', async () => {
  const id = await make({ html: '<a href="{{{UNSUBSCRIBE_URL}}}">Out</a>' })
  await api.call('POST', '/contacts', { email: 'ada@customer.example', segments: [segmentId] })
  await change(id, { subject: 'Sent' })
  expect((await api.call('POST', `/broadcasts/${id}/send`)).status).toBe(200)
  const [, first] = await versions(id)
  await expect
    .poll(async () => {
      await api.clock.set(api.clock.now() + 1000)
      return (await read(id)).status
    })
    .toMatch(/queued|sent/)
  expect((await restore(id, first!.id)).status).toBe(403)
  expect(await read(id)).toMatchObject({ subject: 'Sent' })
})

test('keeps 50 versions, even if a draft is restored repeatedly', async () => {
  const id = await make()
  const [first] = await versions(id)
  for (let n = 0; n < 50; n++) {
    const newest = (await versions(id))[0]!
    expect((await restore(id, n === 0 ? first!.id : newest.id)).status).toBe(200)
    await change(id, { subject: `S${n}` })
  }
  const { data, has_more } = (await api.call('GET', `/broadcasts/${id}/versions?limit=100`)).json as {
    data: Version[]
    has_more: boolean
  }
  expect([data.length, data[0]!.subject, has_more]).toEqual([50, 'S49', false])
})

test('returns 404 for unknown broadcasts and versions, and those of other teams', async () => {
  const [id, other] = [await make(), await make()]
  const [version] = await versions(other)
  for (const path of [
    `/broadcasts/${newId(0)}/versions`,
    `/broadcasts/${id}/versions/${version!.id}`,
    `/broadcasts/${newId(0)}/versions/${version!.id}`,
  ])
    expect((await api.call('GET', path)).status).toBe(404)
  expect((await restore(id, version!.id)).json).toMatchObject({ message: 'Broadcast version not found' })
  expect(await read(id)).toMatchObject({ edits: 0 })
})
