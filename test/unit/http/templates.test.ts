import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { startApi, type Api } from './harness.ts'

let api: Api
const start = async () => void (api = await startApi())
const stop = () => api.close()

const ORDER = {
  name: 'Order',
  alias: 'order',
  from: 'Shop <shop@acme.example>',
  subject: 'Order {{{NUMBER}}}',
  html: '<p>Hi {{{contact.first_name|there}}}: {{{ITEM}}} for {{{PRICE}}}</p>',
  variables: [
    { key: 'NUMBER', type: 'number' },
    { key: 'ITEM', type: 'string' },
    { key: 'PRICE', type: 'number', fallback_value: 25 },
  ],
}

const make = async (more: object = {}): Promise<string> => {
  const { status, json } = await api.call('POST', '/templates', { ...ORDER, ...more })
  expect(status).toBe(201)
  return (json as { id: string }).id
}
const publish = (which: string) => api.call('POST', `/templates/${which}/publish`)
const send = (more: object, path = '/emails', key = api.full) =>
  api.call('POST', path, { to: 'ada@customer.example', ...more }, { authorization: `Bearer ${key}` })
const variables = { NUMBER: 7, ITEM: 'Tea & <b>cake</b>' }
const template = { id: 'order', variables }
const refusal = (message: string, statusCode = 422, name = 'validation_error') => ({
  status: statusCode,
  json: { statusCode, message, name },
})
const emailOf = async (answer: { json: unknown }) =>
  (await api.call('GET', `/emails/${(answer.json as { id: string }).id}`)).json

describe('invalid template requests', () => {
  beforeAll(start)
  afterAll(stop)

  test.each([
    [{ name: undefined }, 'Missing `name` field.', 'missing_required_field'],
    [{ name: ' ' }, 'Missing `name` field.', 'missing_required_field'],
    [{ html: undefined }, 'Missing `html` field.', 'missing_required_field'],
    [{ html: '' }, 'Missing `html` field.', 'missing_required_field'],
    [{ html: 'x'.repeat(1_000_001) }, 'Invalid `html` field: at most 1000000 characters.'],
    [{ html: '{{{NAME' }, /^Invalid `html` field: the tag that starts with `{{{NAME` is incomplete/],
    [{ text: '{{{#if x}}}' }, /^Invalid `text` field: the tag/],
    [{ subject: '{{{' }, /^Invalid `subject` field: the tag/],
    [{ subject: 'a\r\nBcc: b@c.example' }, /^Invalid `subject` field: it must not contain line breaks/],
    [{ from: 'nobody' }, /^Invalid `from` field. The email address/],
    [{ from: '{{{NAME}}} <a@acme.example>' }, 'Invalid `from` field: an address without merge tags.'],
    [{ reply_to: ['x'] }, /^Invalid `reply_to` field/],
    [{ alias: 'a/b' }, /^Invalid `alias` field/],
    [{ alias: newId(0) }, /^Invalid `alias` field: .* not the form of an id/],
    [{ variables: [{ key: 'this', type: 'string' }] }, /`this` is reserved/],
    [{ variables: [{ key: 'A', type: 'date' }] }, /^Invalid `variables\[0\].type` field/],
  ])('rejects a template with %j', async (more, message, name = 'validation_error') => {
    const { status, json } = await api.call('POST', '/templates', { ...ORDER, ...more })
    expect([status, json]).toMatchObject([422, { name }])
    expect((json as { message: string }).message).toMatch(message)
  })

  describe('when sending', () => {
    beforeAll(async () => {
      await make()
      await publish('order')
      await make({ alias: 'draft' })
      await make({ alias: 'bare', from: null, subject: null, html: '{{{X}}}', variables: [] })
      await publish('bare')
    })

    test.each([
      [{ template: { id: 'nothing' } }, 'Template not found', 404, 'not_found'],
      [{ template: { id: '' } }, 'Missing `template.id` field.', 422, 'missing_required_field'],
      [{ template: {} }, 'Invalid `template` field: it must be an object.', 422],
      [{ template, html: 'x' }, 'Use either `template`, or `html` and `text`, not both.', 422],
      [{ template, text: 'x' }, 'Use either `template`, or `html` and `text`, not both.', 422],
      [
        { template: { id: 'draft' } },
        'The template `draft` is not published. Publish it before sending.',
        422,
      ],
      [
        { template: { id: 'order' } },
        'Missing value for the variable `NUMBER`, which has no fallback value.',
        422,
      ],
      [
        { template: { id: 'order', variables: { ...variables, PRICE: 'free' } } },
        'Invalid `template.variables.PRICE` field: a number of at most 2^53 - 1.',
        422,
      ],
      [
        { template: { id: 'bare', variables: { X: 1 } } },
        'Missing `from` field.',
        422,
        'missing_required_field',
      ],
      [
        { from: 'a@acme.example', template: { id: 'bare', variables: { X: 1 } } },
        'Missing `subject` field.',
        422,
        'missing_required_field',
      ],
    ] as [object, string, number, string?][])(
      'reject an email with %j',
      async (body, message, status, name = 'validation_error') => {
        expect(await send(body)).toMatchObject(refusal(message, status, name))
        expect(await api.count()).toBe(0)
      },
    )
  })
})

describe('templates', () => {
  beforeEach(start)
  afterEach(stop)

  test('templates can be created, read by ID and alias, listed, changed and deleted', async () => {
    const id = await make()
    const read = await api.call('GET', '/templates/order')
    expect(read.json).toMatchObject({
      object: 'template',
      id,
      ...ORDER,
      status: 'draft',
      published_at: null,
      text: null,
      reply_to: null,
      has_unpublished_versions: true,
      revision: 1,
      published_version_id: null,
      variables: [
        { key: 'NUMBER', type: 'number', fallback_value: null },
        { key: 'ITEM', type: 'string', fallback_value: null },
        { key: 'PRICE', type: 'number', fallback_value: 25 },
      ],
    })
    expect((await api.call('GET', `/templates/${id.toUpperCase()}`)).json).toEqual(read.json)
    expect((await api.call('GET', '/templates?text=ORD&status=draft')).json).toMatchObject({
      object: 'list',
      has_more: false,
      data: [{ id, name: 'Order', alias: 'order', emails: 0 }],
    })
    const change = { name: null, subject: '', replyTo: ['a@acme.example'], alias: null, revision: 1 }
    const changed = await api.call('PATCH', '/templates/order', change)
    expect(changed.json).toEqual({ object: 'template', id })
    expect((await api.call('GET', `/templates/${id}`)).json).toMatchObject({
      name: 'Order',
      alias: null,
      subject: null,
      reply_to: ['a@acme.example'],
      revision: 2,
    })
    expect(await api.call('PATCH', `/templates/${id}`, { ...change, subject: 'x' })).toMatchObject(
      refusal('The template has changed since you opened it. Load it again, then repeat your change.', 409),
    )
    expect((await api.call('DELETE', `/templates/${id}`)).json).toEqual({
      object: 'template',
      id,
      deleted: true,
    })
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/publish'],
      ['POST', '/duplicate'],
      ['GET', '/versions'],
    ] as const)
      expect(
        await api.call(method, `/templates/order${path}`, method === 'PATCH' ? {} : undefined),
      ).toMatchObject(refusal('Template not found', 404, 'not_found'))
  })

  test('two templates cannot share an alias', async () => {
    await make()
    const taken = refusal('Another template already has the alias `order`.', 409)
    expect(await api.call('POST', '/templates', ORDER)).toMatchObject(taken)
    const other = await make({ alias: 'other' })
    expect(await api.call('PATCH', `/templates/${other}`, { alias: 'order' })).toMatchObject(taken)
  })

  test('templates can be published, changed, restored and duplicated', async () => {
    const id = await make()
    expect((await publish('order')).json).toEqual({ object: 'template', id })
    await api.call('PATCH', '/templates/order', { html: '<p>new</p>' })
    expect((await api.call('GET', '/templates/order')).json).toMatchObject({
      status: 'published',
      has_unpublished_versions: true,
      html: '<p>new</p>',
    })
    const list = (await api.call('GET', '/templates/order/versions')).json as {
      data: { id: string; author: string; published_at: string | null }[]
    }
    expect(list.data.map((one) => [one.author, one.published_at === null])).toEqual([
      ['API key full_access', true],
      ['API key full_access', false],
    ])
    const first = list.data[1]!.id
    const version = `/templates/order/versions/${first}`
    expect((await api.call('GET', version)).json).toMatchObject({
      object: 'template_version',
      id: first,
      template_id: id,
      html: ORDER.html,
    })
    expect((await api.call('POST', `${version}/restore`)).json).toEqual({ object: 'template', id })
    expect((await api.call('GET', '/templates/order')).json).toMatchObject({ html: ORDER.html })
    expect(await api.call('GET', `/templates/order/versions/${id}`)).toMatchObject(
      refusal('Template version not found', 404, 'not_found'),
    )
    const copy = (await api.call('POST', '/templates/order/duplicate')).json as { id: string }
    expect((await api.call('GET', `/templates/${copy.id}`)).json).toMatchObject({
      name: 'Order (copy)',
      alias: null,
      status: 'draft',
      html: ORDER.html,
      subject: ORDER.subject,
    })
  })

  test('the published version of a template is sent, and the email refers to it', async () => {
    const id = await make()
    const published = (await api.call('GET', '/templates/order')).json as { current_version_id: string }
    await publish(id)
    await api.call('PATCH', '/templates/order', { html: 'draft', subject: 'draft' })
    const sent = await emailOf(await send({ template }, '/emails', api.sending))
    expect(sent).toMatchObject({
      from: 'Shop <shop@acme.example>',
      subject: 'Order 7',
      to: ['ada@customer.example'],
      html: '<p>Hi there: Tea & <b>cake</b> for 25</p>',
      text: 'Hi there: Tea & cake for 25',
      template: { id, version_id: published.current_version_id },
    })
    expect((await api.call('GET', '/templates')).json).toMatchObject({ data: [{ emails: 1 }] })
    const own = {
      from: 'me@acme.example',
      subject: 'Mine {{{x}}}',
      reply_to: 'r@acme.example',
      html: '',
      text: null,
    }
    expect(await emailOf(await send({ ...own, template: { id, variables } }, '/email'))).toMatchObject({
      from: 'me@acme.example',
      subject: 'Mine {{{x}}}',
      reply_to: ['r@acme.example'],
    })
    // Typed clients send unset fields as null.
    const plain = { from: 'me@acme.example', subject: 'x', text: 'x', template: null }
    expect(await emailOf(await send(plain))).not.toHaveProperty('template')
  })

  test('a template gets the fields of a single recipient from the contact, escaped', async () => {
    await make()
    await publish('order')
    await api.call('POST', '/contacts', { email: 'ada@customer.example', first_name: '<script>Ada' })
    const one = await emailOf(await send({ template }))
    expect(one).toMatchObject({ html: '<p>Hi &lt;script&gt;Ada: Tea & <b>cake</b> for 25</p>' })
    const two = { to: ['ada@customer.example', 'bob@customer.example'] }
    expect(await emailOf(await send({ template, ...two }))).toMatchObject({ html: /^<p>Hi there: / })
  })

  test('a test sends the draft of a template to one address', async () => {
    const id = await make()
    const test = (body: object) => api.call('POST', `/templates/${id}/test`, body)
    const sent = await emailOf(await test({ to: 'ada@customer.example', variables }))
    expect(sent).toMatchObject({ subject: '[Test] Order 7', to: ['ada@customer.example'], template: { id } })
    expect(await test({ to: 'ada@customer.example' })).toMatchObject(
      refusal('Missing value for the variable `NUMBER`, which has no fallback value.'),
    )
    expect(await test({ to: 'nobody', variables })).toMatchObject({ status: 422 })
    await api.call('PATCH', `/templates/${id}`, { from: null })
    expect(await test({ to: 'ada@customer.example', variables })).toMatchObject(
      refusal('Missing `from` field.', 422, 'missing_required_field'),
    )
  })

  test('the unsubscribe tag becomes the link of a single recipient, and several recipients are rejected', async () => {
    const html = '<a href="{{{RESEND_UNSUBSCRIBE_URL}}}">Leave</a>'
    await make({
      alias: 'leaving',
      html,
      text: 'Leave: {{{UNSUBSCRIBE_URL|here}}}',
      variables: [],
      subject: 'x',
    })
    await publish('leaving')
    const like = (pattern: RegExp) => expect.stringMatching(pattern) as string
    const link = like(/^<a href="https:\/\/links\.acme\.example\/[^"{]+">Leave<\/a>/)
    const filled = { html: link, text: like(/^Leave: https:[^{]+$/) }
    expect(await emailOf(await send({ template: { id: 'leaving' } }))).toMatchObject(filled)
    const plain = { from: 'me@acme.example', subject: 'x', html, text: '{{{ UNSUBSCRIBE_URL }}}' }
    const own = { html: link, text: like(/^https:[^{]+$/) }
    expect(await emailOf(await send(plain))).toMatchObject(own)
    const several = { to: ['ada@customer.example', 'bob@customer.example'] }
    const message =
      'The unsubscribe link belongs to one person. Send an email with {{{UNSUBSCRIBE_URL}}} to exactly one recipient, or use a broadcast.'
    expect(await send({ ...plain, ...several })).toMatchObject(refusal(message, 422, 'validation_error'))
    const list = { headers: { 'List-Unsubscribe': '<{{{UNSUBSCRIBE_URL}}}>' } }
    const everywhere = await send({ ...plain, ...list, subject: 'Leave: {{{UNSUBSCRIBE_URL}}}' })
    expect(await emailOf(everywhere)).toMatchObject({ subject: like(/^Leave: https:[^{]+$/) })
    const { text: source } = await api.call('GET', `/emails/${(everywhere.json as { id: string }).id}/source`)
    expect(source.replaceAll(/\r\n\s+/g, ' ')).toMatch(/^List-Unsubscribe: <https:[^{]+>\r$/m)
    const { json } = await api.call('POST', '/templates/leaving/test', { to: 'ada@customer.example' })
    const tested = (await api.call('GET', `/emails/${(json as { id: string }).id}`)).json
    expect(tested).toMatchObject({ html: like(/^<a href="#">Leave<\/a>/) })
  })

  test('the subject stays on one line, even with line breaks in variables', async () => {
    await make({ subject: 'For {{{ITEM}}}' })
    await publish('order')
    const hostile = { ...variables, ITEM: 'a\r\nBcc: b@c.example {{{NUMBER}}}' }
    expect(await emailOf(await send({ template: { id: 'order', variables: hostile } }))).toMatchObject({
      subject: 'For a Bcc: b@c.example {{{NUMBER}}}',
      bcc: null,
    })
  })

  test('templates can be used in a batch, and in permissive mode the valid emails are sent', async () => {
    await make()
    await publish('order')
    const [good, bad] = [
      { to: 'ada@customer.example', template },
      { to: 'bob@customer.example', template: { id: 'order' } },
    ]
    const strict = await api.call('POST', '/emails/batch', [good, bad])
    const why = 'Missing value for the variable `NUMBER`, which has no fallback value.'
    expect(strict).toMatchObject(refusal(`Email at index 1: ${why}`))
    const permissive = await api.call('POST', '/emails/batch', [bad, good], {
      'x-batch-validation': 'permissive',
    })
    expect(permissive.json).toMatchObject({ data: [{}], errors: [{ index: 0, message: why }] })
    expect(await api.count()).toBe(1)
  })

  test('a repeated idempotency key gets the first response even if the template was deleted', async () => {
    await make()
    await publish('order')
    const body = { to: 'ada@customer.example', template }
    const headers = { 'idempotency-key': 'k1' }
    const first = await api.call('POST', '/emails', body, headers)
    await api.call('DELETE', '/templates/order')
    expect((await api.call('POST', '/emails', body, headers)).json).toEqual(first.json)
    expect(await api.call('POST', '/emails', { ...body, subject: 'x' }, headers)).toMatchObject({
      status: 409,
    })
  })

  test('templates cannot be read with a sending key', async () => {
    await make()
    const headers = { authorization: `Bearer ${api.sending}` }
    expect(await api.call('GET', '/templates', undefined, headers)).toMatchObject({ status: 401 })
    expect(await api.call('GET', '/templates/order', undefined, headers)).toMatchObject({ status: 401 })
  })
})
