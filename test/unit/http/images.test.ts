import { afterAll, beforeAll, expect, test } from 'vitest'
import { METADATA, png, SAMPLES } from '../images/samples.ts'
import { startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Uploaded {
  id: string
  url: string
  message: string
}

async function upload(body: Buffer, headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.url}/images`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers: headers.cookie === undefined ? { authorization: `Bearer ${api.full}`, ...headers } : headers,
  })
  return { status: answer.status, json: (await answer.json()) as Uploaded }
}

test.each(SAMPLES)('uploads and serves %s without metadata', async (type, bytes, width, height) => {
  // Whatever type the client declares.
  const { status, json } = await upload(bytes, { 'content-type': 'text/html' })
  expect([status, json]).toMatchObject([201, { object: 'image', type, width, height }])
  expect((await upload(bytes)).status).toBe(200)
  const path = new URL(json.url).pathname
  expect(path).toMatch(/^\/i\/[0-9a-f]{64}\.(png|jpg|gif|webp)$/)
  const served = await fetch(api.url + path)
  expect(Object.fromEntries(served.headers)).toMatchObject({
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
  })
  expect(Buffer.from(await served.arrayBuffer()).includes(METADATA)).toBe(false)
})

test('rejects files that are not images, and uploads that are too large', async () => {
  const svg = await upload(Buffer.from('<svg onload="alert(1)"/>'), { 'content-type': 'image/png' })
  expect([svg.status, svg.json.message]).toEqual([
    422,
    'This is not an image that emails can show, or it is incomplete. Supported formats: png, jpg, gif, webp.',
  ])
  expect((await upload(Buffer.alloc(0))).status).toBe(422)
  expect((await upload(Buffer.concat([png(), Buffer.alloc(3_000_000)]))).status).toBe(413)
})

test('an image can be deleted, and is not found afterwards', async () => {
  const { json } = await upload(png(9, 9))
  expect((await api.call('GET', '/images')).json).toMatchObject({ object: 'list', has_more: false })
  const deleted = await api.call('DELETE', `/images/${json.id}`)
  expect(deleted.json).toEqual({ object: 'image', id: json.id, deleted: true })
  expect((await api.call('DELETE', `/images/${json.id}`)).status).toBe(404)
  expect((await fetch(api.url + new URL(json.url).pathname)).status).toBe(404)
})

test('image URLs with another name or extension get a 404', async () => {
  const { json } = await upload(png(8, 8))
  for (const name of ['x.png', `${json.id}.gif`, `${json.id}`, '..%2f..%2fetc%2fpasswd', `${json.id}.PNG`])
    expect((await fetch(`${api.url}/i/${name}`)).status).toBe(404)
})

test("developers can upload images, and viewers can't", async () => {
  const uploadAs = async (role: 'viewer' | 'developer') =>
    (
      await upload(png(7, 7), {
        cookie: await join(api, { role }),
        'x-requested-with': 'dashboard',
        origin: api.url,
      })
    ).status
  expect([await uploadAs('viewer'), await uploadAs('developer')]).toEqual([403, 201])
})

test('keeps images used in a template or broadcast, and deletes unused ones after a month', async () => {
  const headers = {
    cookie: await join(api, { role: 'developer' }),
    'x-requested-with': 'dashboard',
    origin: api.url,
  }
  const [kept, unused] = [await upload(png(3, 3), headers), await upload(png(4, 4), headers)]
  const [created, updated] = [await upload(png(5, 5), headers), await upload(png(6, 6), headers)]
  const template = { name: 'Shown', html: `<img src="${kept.json.url}" alt="">` }
  expect((await api.call('POST', '/templates', template)).status).toBe(201)
  const segment = (await api.call('POST', '/segments', { name: 'All' })).json as { id: string }
  const broadcast = await api.call('POST', '/broadcasts', {
    segment_id: segment.id,
    from: 'Acme <news@example.test>',
    subject: 'News',
    html: `<img src="${created.json.url}" alt="">`,
  })
  expect(broadcast.status).toBe(201)
  const { id } = broadcast.json as { id: string }
  const html = `<img src="${updated.json.url}" alt="">`
  expect((await api.call('PATCH', `/broadcasts/${id}`, { html })).status).toBe(200)
  const later = api.clock.now() + 31 * 24 * 3600 * 1000
  expect(await api.storage.purgeImages({ before: later, most: 100 }, later)).toBeGreaterThan(0)
  const status = async ({ json }: typeof kept) => (await fetch(api.url + new URL(json.url).pathname)).status
  expect([await status(kept), await status(unused)]).toEqual([200, 404])
  expect([await status(created), await status(updated)]).toEqual([200, 200])
})
