import { afterAll, beforeAll, expect, test } from 'vitest'
import { BLOCK_SAMPLES, documentOf, everything } from '../document/samples.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const HELLO = {
  type: 'paragraph',
  content: [
    { type: 'text', text: 'Hello ' },
    { type: 'variable', attrs: { key: 'ITEM', fallback: 'you' } },
  ],
}
const HEADING = { type: 'heading', content: [{ type: 'text', text: 'Tea & cake {{{ITEM}}}' }] }
const given = { version: 1, preheader: 'News', content: [HELLO, HEADING] }

const make = async (body: object): Promise<string> => {
  const { status, json } = await api.call('POST', '/templates', { name: 'Order', ...body })
  expect([status, json]).toMatchObject([201, { object: 'template' }])
  return (json as { id: string }).id
}
interface Read {
  html: string
  text: string | null
  document: object | null
  revision: number
  current_version_id: string
}
const read = async (id: string) => (await api.call('GET', `/templates/${id}`)).json as Read
const change = (id: string, body: object) => api.call('PATCH', `/templates/${id}`, body)

test('a document is stored completely, and compiled to HTML and text', async () => {
  const id = await make({ document: given })
  const { html, text, document } = await read(id)
  expect(document).toEqual(documentOf(given.content, { preheader: 'News' }))
  expect(html).toContain('<title>Tea &amp; cake</title>')
  expect(html).toContain('Hello {{{ITEM|you}}}</p>')
  expect(text).toBe('Hello {{{ITEM|you}}}\n\nTea & cake {{{ITEM}}}')
  expect((await change(id, { document: everything() })).status).toBe(200)
  expect((await read(id)).document).toEqual(everything())
  await change(id, { subject: 'Only the subject' })
  expect((await read(id)).document).toEqual(everything())
})

test('versions, published templates, copies and restored versions keep the document', async () => {
  const id = await make({ document: given })
  const first = await read(id)
  await api.call('POST', `/templates/${id}/publish`)
  await change(id, { document: { version: 1, content: [BLOCK_SAMPLES.divider!] } })
  const version = `/templates/${id}/versions/${first.current_version_id}`
  expect((await api.call('GET', version)).json).toMatchObject({ document: first.document, html: first.html })
  await api.call('POST', `${version}/restore`)
  expect(await read(id)).toMatchObject({ document: first.document, html: first.html })
  const copy = (await api.call('POST', `/templates/${id}/duplicate`)).json as { id: string }
  expect(await read(copy.id)).toMatchObject({ document: first.document, html: first.html })
})

test.each([
  ['html', { html: '<p>Code</p>' }, { html: '<p>Code</p>' }],
  ['text', { text: 'Code' }, { text: 'Code' }],
  ['null', { document: null }, {}],
])('setting html, text or null removes the document: %s', async (_, body, after) => {
  const id = await make({ document: given })
  const { html, text } = await read(id)
  expect((await change(id, body)).status).toBe(200)
  expect(await read(id)).toMatchObject({ html, text, ...after, document: null })
})

test('an email can be sent from a template with a document', async () => {
  const id = await make({ document: given, from: 'shop@acme.example', subject: 'Hi' })
  await api.call('POST', `/templates/${id}/publish`)
  const template = { id, variables: { ITEM: '<b>{{{ITEM}}}\r\nBcc: x' } }
  const sent = await api.call('POST', '/emails', { to: 'ada@customer.example', template })
  const email = (await api.call('GET', `/emails/${(sent.json as { id: string }).id}`)).json
  expect((email as Read).text).toContain('Hello <b>{{{ITEM}}}')
})

const wrong = (field: string) => new RegExp(`^Invalid \`${field.replaceAll(/[[\].]/g, '\\$&')}\` field: `)

test.each([
  ['', wrong('document')],
  [7, wrong('document')],
  [{ version: 2, content: [] }, wrong('document.version')],
  [{ version: 1 }, wrong('document.content')],
  [{ version: 1, content: [{ type: 'script' }] }, wrong('document.content[0].type')],
  [{ version: 1, content: [{ ...HELLO, attrs: { class: 'x' } }] }, wrong('document.content[0].attrs.class')],
  [{ version: 1, content: [], theme: { width: 9 } }, wrong('document.theme.width')],
  [
    { version: 1, content: [{ type: 'paragraph', content: [{ type: 'text', text: '{{{A' }] }] },
    /the tag that/,
  ],
])('the document %j is rejected with the path of the error', async (document, message) => {
  const id = await make({ document: given })
  const created = await api.call('POST', '/templates', { name: 'Order', document })
  const changed = await change(id, { document })
  for (const { status, json } of [created, changed]) {
    expect([status, json]).toMatchObject([422, { name: 'validation_error' }])
    expect((json as { message: string }).message).toMatch(message)
  }
  expect((await read(id)).revision).toBe(1)
})

test.each(['html', 'text'])('rejects %s next to a document', async (field) => {
  const body = { name: 'Order', document: given, [field]: 'Other' }
  expect((await api.call('POST', '/templates', body)).json).toMatchObject({
    message: `Invalid \`${field}\` field: absent, because it is made from \`document\`.`,
  })
})
