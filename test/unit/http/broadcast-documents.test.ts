import { afterAll, beforeAll, expect, test } from 'vitest'
import { BLOCK_SAMPLES, documentOf, everything } from '../document/samples.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
let segmentId: string
beforeAll(async () => {
  api = await startApi()
  segmentId = ((await api.call('POST', '/segments', { name: 'Readers' })).json as { id: string }).id
})
afterAll(() => api.close())

interface Read {
  html: string
  text: string
  preview_text: string | null
  document: object | null
  edits: number
}
const make = async (body: object): Promise<string> => {
  const about = { segment_id: segmentId, from: 'Shop <shop@acme.example>', subject: 'Hi' }
  const { status, json } = await api.call('POST', '/broadcasts', { ...about, ...body })
  expect([status, json]).toMatchObject([201, { object: 'broadcast' }])
  return (json as { id: string }).id
}
const read = async (id: string) => (await api.call('GET', `/broadcasts/${id}`)).json as Read
const change = (id: string, body: object) => api.call('PATCH', `/broadcasts/${id}`, body)
const given = { version: 1, content: [BLOCK_SAMPLES.paragraph!, BLOCK_SAMPLES.footer!] }

test('compiles html and text from the document, and copies keep the document', async () => {
  const id = await make({ document: given })
  const made = await read(id)
  expect(made).toMatchObject({ document: documentOf(given.content), preview_text: null })
  expect(made.html).toContain('{{{contact.first_name|Tom &amp; Co}}}')
  expect(made.text).toContain('Unsubscribe: {{{UNSUBSCRIBE_URL}}}')
  const copy = (await api.call('POST', `/broadcasts/${id}/duplicate`)).json as { id: string }
  const { document, html, text } = made
  expect(await read(copy.id)).toMatchObject({ document, html, text })
  await change(id, { subject: 'New', name: 'Other' })
  expect(await read(id)).toMatchObject({ document, html, text })
  await change(id, { html: '<p>Code</p>' })
  expect(await read(id)).toMatchObject({ document: null, html: '<p>Code</p>' })
})

test('the preheader becomes the preview text unless the request sets one', async () => {
  const id = await make({ document: everything() })
  expect(await read(id)).toMatchObject({
    preview_text: 'What is new, {{{contact.first_name|friend}}}',
    document: { ...everything(), preheader: '' },
  })
  await change(id, { document: given })
  expect((await read(id)).preview_text).toBe('What is new, {{{contact.first_name|friend}}}')
  await change(id, { document: everything(), preview_text: 'Mine' })
  expect((await read(id)).preview_text).toBe('Mine')
})

test('rejects a document based on an outdated version of the draft', async () => {
  const id = await make({ document: given })
  const { edits } = await read(id)
  expect((await change(id, { document: everything(), edits })).status).toBe(200)
  expect(await change(id, { document: given, edits })).toMatchObject({ status: 409 })
  expect((await read(id)).document).toEqual({ ...everything(), preheader: '' })
})

test.each([
  [{ document: { version: 1, content: [{ type: 'x' }] } }, 'Invalid `document.content[0].type` field: '],
  [{ document: given, html: 'Other' }, 'Invalid `html` field: absent, because it is made from `document`'],
  [{ document: given, text: 'Other' }, 'Invalid `text` field: absent, because it is made from `document`'],
])('rejects %j', async (body, message) => {
  const id = await make({ document: given })
  const { status, json } = await change(id, body)
  expect(status).toBe(422)
  expect((json as { message: string }).message).toContain(message)
  expect((await read(id)).edits).toBe(0)
})

test('a broadcast and its copies refer to the template that the content was created from', async () => {
  const template = { name: 'Letter', alias: 'letter', html: '<p>Hi</p>' }
  const { id: templateId } = (await api.call('POST', '/templates', template)).json as { id: string }
  const id = await make({ html: '<p>Hi</p>', template_id: 'letter' })
  expect(await read(id)).toMatchObject({ template_id: templateId })
  const copy = (await api.call('POST', `/broadcasts/${id}/duplicate`)).json as { id: string }
  expect(await read(copy.id)).toMatchObject({ template_id: templateId })
  expect(await read(await make({ html: '<p>Hi</p>', template_id: '' }))).toMatchObject({ template_id: null })
  const uses = async () => {
    const { data } = (await api.call('GET', '/templates?text=letter')).json as { data: object[] }
    return data[0]
  }
  expect(await uses()).toMatchObject({ emails: 0, automations: 0, drafts: 2 })
  const about = { segment_id: segmentId, from: 'Shop <shop@acme.example>', subject: 'Hi' }
  expect(await api.call('POST', '/broadcasts', { ...about, template_id: 'nothing' })).toMatchObject({
    status: 404,
    json: { message: 'Template not found' },
  })
})
