import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'
import { ask, errorText, hello, startApi, type Api } from './harness.ts'

const PUBLIC = '127.0.0.77'
let api: Api
/** A file server. The path determines its response. */
let files: string
const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url!)
  const named = {
    'content-type': 'application/pdf',
    'content-disposition': `attachment; filename="r\u00fc.pdf"`,
  }
  if (request.url === '/named')
    response
      .writeHead(200, {
        ...named,
        'content-disposition': "attachment; filename=x.pdf; filename*=UTF-8''r%C3%BC.pdf",
      })
      .end('%PDF')
  else if (request.url === '/big') response.writeHead(200).end(Buffer.alloc(2_000_000))
  else if (request.url === '/missing') response.writeHead(404).end()
  else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(`file ${request.url}`)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, PUBLIC, resolve))
  files = `http://files.example:${(server.address() as AddressInfo).port}`
  const lookup = async (name: string) => (name === 'files.example' ? [PUBLIC] : ['127.0.0.1'])
  api = await startApi({
    messageBytes: 2_500_000,
    fetch: { lookup, allowNetworks: parseNetworks([`${PUBLIC}/32`]) },
  })
})
afterAll(async () => {
  await api.close()
  server.close()
})

interface Listed {
  id: string
  filename: string | null
  download_url: string
  expires_at: string
}
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64')
const send = async (attachments: unknown[], more = {}) => {
  const { json, text, status } = await api.call('POST', '/emails', { ...hello, ...more, attachments })
  if (status !== 200) throw new Error(text)
  return (json as { id: string }).id
}
const listOf = async (id: string, query = '') =>
  (await api.call('GET', `/emails/${id}/attachments${query}`)).json as { has_more: boolean; data: Listed[] }
const download = async (url: string) => {
  const response = await fetch(url)
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}

describe('attachments by URL', () => {
  test('attachments by URL are fetched in order, with name and type from the response or the caller', async () => {
    const id = await send([
      { path: `${files}/a%20b.txt?x=1` },
      { filename: 'mine.txt', content: base64('mine') },
      { path: `${files}/named` },
      { path: `${files}/named`, filename: 'other.bin', content_type: 'image/png', content: '' },
    ])
    const { data } = await listOf(id)
    expect(
      data.map((one) => [one.filename, (one as unknown as { content_type: string }).content_type]),
    ).toEqual([
      ['a b.txt', 'text/plain'],
      ['mine.txt', 'text/plain'],
      ['r\u00fc.pdf', 'application/pdf'],
      ['other.bin', 'image/png'],
    ])
    const bodies = await Promise.all(
      data.map(async (one) => (await download(one.download_url)).bytes.toString()),
    )
    expect(bodies).toEqual(['file /a%20b.txt?x=1', 'mine', '%PDF', '%PDF'])
  })

  test('attachments by URL without a name get one with the extension of their type', async () => {
    const id = await send([
      { content: base64('%PDF'), content_type: 'application/pdf' },
      { content: base64('x') },
      { path: `${files}/` },
      { content: base64('BEGIN:VCALENDAR'), content_type: 'text/calendar; method=REQUEST' },
      { content: base64('png'), content_type: 'image/png', content_id: 'logo' },
      { content: base64('Subject: x\n\ny'), content_type: 'message/rfc822' },
    ])
    const names = [
      'attachment-1.pdf',
      'attachment-2.bin',
      'attachment-3.bin',
      'attachment-4.ics',
      'attachment-5.png',
      'attachment-6.eml',
    ]
    const { data } = await listOf(id)
    expect(data.map(({ filename }) => filename)).toEqual(names)
    const message = await PostalMime.parse((await api.storage.getMessage({ emailId: id }, api.clock.now()))!)
    const shown = message.attachments.map(({ filename }) => filename)
    expect(shown.toSorted()).toEqual(names)
  })

  test('an attachment URL is not fetched if the content is given', async () => {
    asked.length = 0
    const id = await send([{ path: `${files}/never`, filename: 'a.txt', content: base64('given') }])
    const { data } = await listOf(id)
    expect((await download(data[0]!.download_url)).bytes.toString()).toBe('given')
    expect(asked).toEqual([])
  })

  test.each([
    ['http://127.0.0.1:8025/', 'must be on a host with a public address'],
    ['http://0x7f.1/', 'must be on a host with a public address'],
    ['http://2130706433/', 'must be on a host with a public address'],
    ['http://[::ffff:127.0.0.1]/', 'must be on a host with a public address'],
    ['http://intranet.example/', 'must be on a host with a public address'],
    ['FILES/missing', 'returned status 404 instead of 200'],
  ])(
    'an attachment URL is rejected with position and reason, and nothing is stored: %s',
    async (url, reason) => {
      const before = await api.count()
      const path = url.replace('FILES', files)
      const answer = await api.call('POST', '/emails', {
        ...hello,
        attachments: [{ content: 'QQ==' }, { path: `${files}/fine` }, { path }],
      })
      expect(answer.text).toBe(
        errorText(422, 'invalid_attachment', `Invalid attachment 3: its \`path\` ${reason}.`),
      )
      expect(await api.count()).toBe(before)
    },
  )

  test('attachments by URL are rejected if the message becomes too large', async () => {
    const answer = await api.call('POST', '/emails', { ...hello, attachments: [{ path: `${files}/big` }] })
    expect(answer.text).toBe(
      errorText(422, 'validation_error', 'The message with its attachments is larger than 2500000 bytes.'),
    )
  })

  test('attachments by URL are not fetched for an unverified domain, or again for a repeated request', async () => {
    const attachments = [{ path: `${files}/once` }]
    asked.length = 0
    await api.call('POST', '/emails', { ...hello, from: 'hi@new.example', attachments })
    expect(asked).toEqual([])
    const headers = { 'idempotency-key': 'fetch/1' }
    const answers = [
      await api.call('POST', '/emails', { ...hello, attachments }, headers),
      await api.call('POST', '/emails', { ...hello, attachments }, headers),
    ]
    expect(answers[0]!.text).toBe(answers[1]!.text)
    expect(asked).toEqual(['/once'])
  })

  test('attachments by URL can still be fetched after eight oversized downloads were rejected', async () => {
    const attachments = [{ path: `${files}/a` }, { path: `${files}/big` }]
    for (let i = 0; i < 8; i++)
      expect((await api.call('POST', '/emails', { ...hello, attachments })).status).toBe(422)
    expect(
      (await api.call('POST', '/emails', { ...hello, attachments: [{ path: `${files}/a` }] })).status,
    ).toBe(200)
  })
})

describe('attachments of an email', () => {
  test('attachments are listed and shown with a download link that needs no key', async () => {
    const id = await send([{ filename: 'a "b" \u{1F680}.html', content: base64('<script>1</script>') }], {
      html: 'x',
    })
    const { data, has_more } = await listOf(id)
    expect(has_more).toBe(false)
    expect(data).toEqual([
      {
        id: expect.any(String) as string,
        filename: 'a "b" \u{1F680}.html',
        content_type: 'text/html',
        content_disposition: 'attachment',
        download_url: expect.stringMatching(
          /^http:\/\/127\.0\.0\.1:\d+\/downloads\/attachments\/[\w.-]+$/,
        ) as string,
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        size: 18,
      },
    ])
    const one = (await api.call('GET', `/emails/${id}/attachments/${data[0]!.id}`)).json as Listed
    expect(one).toMatchObject({ object: 'attachment', id: data[0]!.id, filename: data[0]!.filename })
    const { response, bytes } = await download(one.download_url)
    expect(bytes.toString()).toBe('<script>1</script>')
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition':
        'attachment; filename="a _b_ __.html"; filename*=UTF-8\'\'a%20%22b%22%20%F0%9F%9A%80.html',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })

  test('attachments are downloaded byte for byte, in the order they were sent', async () => {
    const random = randomBytes(300_000)
    const inner = 'Subject: inner\r\n\r\nHello\r\n'
    const given: [object, Uint8Array | string][] = [
      [{ filename: 'logo.png', content_id: 'logo' }, 'PNG'],
      [{ filename: 'a.bin' }, random],
      [{ filename: 'page.html', inline_content_id: 'page' }, '<p>inline\r\n'],
      [{ filename: 'plain.txt', content_id: 'note' }, 'lone\nLF and\rCR'],
      [{ filename: 'mail.eml', contentType: 'message/rfc822' }, inner],
      [{}, ''],
      [{ filename: 'b.txt' }, 'b'],
      [{ filename: 'second.png', content_id: 'logo2' }, 'PNG2'],
    ]
    for (const html of ['<img src="cid:logo">', undefined]) {
      const id = await send(
        given.map(([fields, content]) => ({ ...fields, content: base64(content) })),
        { html },
      )
      const { data } = await listOf(id)
      const back = await Promise.all(data.map(async (one) => (await download(one.download_url)).bytes))
      for (const [index, [, content]] of given.entries())
        expect(back[index]!.equals(Buffer.from(content)), `attachment ${index + 1}`).toBe(true)
    }
  })

  test('attachments are listed in pages, in the order they were sent', async () => {
    const id = await send(['a', 'b', 'c', 'd'].map((name) => ({ filename: name, content: 'QQ==' })))
    const all = await listOf(id)
    const names = (list: { data: Listed[]; has_more: boolean }) => [
      list.data.map(({ filename }) => filename).join(''),
      list.has_more,
    ]
    expect(names(all)).toEqual(['abcd', false])
    expect(names(await listOf(id, '?limit=3'))).toEqual(['abc', true])
    expect(names(await listOf(id, `?limit=2&after=${all.data[1]!.id}`))).toEqual(['cd', false])
    expect(names(await listOf(id, `?limit=1&before=${all.data[2]!.id}`))).toEqual(['b', true])
    expect((await api.call('GET', `/emails/${id}/attachments?limit=0`)).status).toBe(422)
  })

  test('nonexistent attachments get a 404', async () => {
    const id = await send([])
    expect(await listOf(id)).toEqual({ object: 'list', has_more: false, data: [] })
    const missing = errorText(404, 'not_found', 'Attachment not found')
    expect((await api.call('GET', `/emails/${id}/attachments/${newId(0)}`)).text).toBe(missing)
    expect((await api.call('GET', `/emails/${newId(0)}/attachments`)).text).toBe(
      errorText(404, 'not_found', 'Email not found'),
    )
    expect((await api.call('GET', `/emails/${id}/attachments/x`)).text).toBe(
      errorText(422, 'validation_error', 'The `attachment_id` must be a valid UUID.'),
    )
  })

  test('attachments cannot be downloaded with a forged link, or after an hour', async () => {
    const { data } = await listOf(await send([{ filename: 'a', content: 'QQ==' }]))
    const url = data[0]!.download_url
    const get = (link: string) => ask(link, 'GET')
    expect((await get(url)).text).toBe('A')
    const tampered = url.replace(/.(?=\.[\w-]+$)/, (last) => (last === 'A' ? 'B' : 'A'))
    expect((await get(tampered)).text).toBe(errorText(404, 'not_found', 'Attachment not found'))
    await api.clock.advance(3_600_000)
    expect((await get(url)).text).toBe(
      errorText(410, 'not_found', 'This link has expired. Request a new one through the API.'),
    )
  })
})
