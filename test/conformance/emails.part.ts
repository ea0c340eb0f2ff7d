import { expect, test } from 'vitest'
import { NOBODY, refused, taken, type Suite } from './suite.ts'

/** Tests emails.*, emails.attachments.* and batch.* */
export function emailsPart(suite: () => Suite): void {
  const hello = (more: object = {}) => ({
    from: suite().from,
    to: 'ada@customer.test',
    subject: 'Größe ✓',
    html: '<p>It <b>works</b>.</p>',
    ...more,
  })
  const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

  test('emails.send and emails.get: accept and return every field', async () => {
    const { client } = suite()
    const { id } = await taken(
      client.emails.send({
        ...hello({ to: ['ada@customer.test', 'Grace <grace@customer.test>'] }),
        cc: 'carl@customer.test',
        bcc: ['berta@customer.test'],
        replyTo: ['support@customer.test', 'Help <help@customer.test>'],
        text: 'It works.',
        headers: { 'X-Entity-Ref-ID': '7' },
        tags: [{ name: 'kind', value: 'welcome' }],
        attachments: [{ filename: 'a.txt', content: Buffer.from('attached'), contentId: 'a' }],
      }),
    )
    expect(await taken(client.emails.get(id))).toMatchObject({
      object: 'email',
      id,
      to: ['ada@customer.test', 'Grace <grace@customer.test>'],
      cc: ['carl@customer.test'],
      bcc: ['berta@customer.test'],
      reply_to: ['support@customer.test', 'Help <help@customer.test>'],
      subject: 'Größe ✓',
      html: '<p>It <b>works</b>.</p>',
      text: 'It works.',
      scheduled_at: null,
    })
  })

  test('emails.create and emails.get: accept and return the required fields alone', async () => {
    const { id } = await taken(suite().client.emails.create(hello()))
    expect(await taken(suite().client.emails.get(id))).toMatchObject({
      to: ['ada@customer.test'],
      cc: null,
      bcc: null,
      reply_to: null,
      text: 'It works.',
    })
  })

  test('emails.get: returns delivered as the last event after delivery', async () => {
    const { client, appliance } = suite()
    const { id } = await taken(client.emails.send(hello()))
    await appliance.until(id, ({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))
    expect(await taken(client.emails.get(id))).toMatchObject({ last_event: 'delivered' })
  })

  test('emails.send: replays the response for an idempotency key, and rejects changed requests and long keys', async () => {
    const { client } = suite()
    const once = () => client.emails.send(hello(), { idempotencyKey: 'order-7' })
    const first = await taken(once())
    expect(await taken(once())).toEqual(first)
    const changed = await refused(
      client.emails.send(hello({ subject: 'Other' }), { idempotencyKey: 'order-7' }),
    )
    expect(changed).toMatchObject({ statusCode: 409, name: 'invalid_idempotent_request' })
    const tooLong = await refused(client.emails.send(hello(), { idempotencyKey: 'k'.repeat(257) }))
    expect(tooLong).toMatchObject({ statusCode: 400, name: 'invalid_idempotency_key' })
  })

  test('emails.list: returns a page and the pages after and before it', async () => {
    const { client } = suite()
    for (const n of [1, 2, 3]) await taken(client.emails.send(hello({ subject: `List ${n}` })))
    const page = await taken(client.emails.list({ limit: 2 }))
    expect(page).toMatchObject({ object: 'list', has_more: true })
    expect(page.data.map(({ subject }) => subject)).toEqual(['List 3', 'List 2'])
    const next = await taken(client.emails.list({ limit: 1, after: page.data[1]!.id }))
    expect(next.data.map(({ subject }) => subject)).toEqual(['List 1'])
    const back = await taken(client.emails.list({ limit: 1, before: page.data[1]!.id }))
    expect(back.data.map(({ id }) => id)).toEqual([page.data[0]!.id])
    expect(await refused(client.emails.list({ limit: 101 }))).toMatchObject({ statusCode: 422 })
  })

  test('emails.update and emails.cancel: reschedule and cancel a scheduled email', async () => {
    const { client } = suite()
    const { id } = await taken(client.emails.send(hello({ scheduledAt: 'in 1 hour' })))
    expect(await taken(client.emails.get(id))).toMatchObject({ last_event: 'scheduled' })
    expect(await taken(client.emails.update({ id, scheduledAt: tomorrow() }))).toEqual({
      object: 'email',
      id,
    })
    expect(await taken(client.emails.cancel(id))).toEqual({ object: 'email', id })
    expect(await taken(client.emails.get(id))).toMatchObject({ last_event: 'canceled' })
    expect(await refused(client.emails.cancel(id))).toMatchObject({ statusCode: 422 })
    expect(await refused(client.emails.update({ id: NOBODY, scheduledAt: tomorrow() }))).toMatchObject({
      statusCode: 404,
      message: 'Email not found',
    })
  })

  test('emails.share: returns a link, and rejects an expiry that is too long', async () => {
    const { client } = suite()
    const { id } = await taken(client.emails.send(hello()))
    const { url } = await taken(client.emails.share(id, { expiresIn: '10m' }))
    expect(url).toMatch(/^https?:\/\//)
    expect(await taken(client.emails.share(id))).toMatchObject({ object: 'email', id })
    expect(await refused(client.emails.share(id, { expiresIn: '3 days' }))).toMatchObject({ statusCode: 422 })
  })

  test('emails.attachments: lists and reads attachments', async () => {
    const { client } = suite()
    const attachments = [
      { filename: 'a.txt', content: Buffer.from('attached').toString('base64') },
      { filename: 'b.png', content: Buffer.from('inline'), contentId: 'logo', contentType: 'image/png' },
    ]
    const { id: emailId } = await taken(client.emails.send(hello({ attachments })))
    const list = await taken(client.emails.attachments.list({ emailId }))
    expect(list.data.map(({ filename, size }) => [filename, size])).toEqual([
      ['a.txt', 8],
      ['b.png', 6],
    ])
    const one = await taken(client.emails.attachments.get({ emailId, id: list.data[0]!.id }))
    expect(one).toMatchObject({
      object: 'attachment',
      content_type: 'text/plain',
      content_disposition: 'attachment',
    })
    expect(await refused(client.emails.attachments.get({ emailId, id: NOBODY }))).toMatchObject({
      statusCode: 404,
      message: 'Attachment not found',
    })
  })

  test('batch.send: in strict mode accepts all emails or none', async () => {
    const { client } = suite()
    const { data } = await taken(client.batch.send([hello({ subject: 'One' }), hello({ subject: 'Two' })]))
    expect(data).toHaveLength(2)
    expect(await taken(client.emails.get(data[1]!.id))).toMatchObject({ subject: 'Two' })
    const newest = async () => (await taken(client.emails.list({ limit: 1 }))).data[0]!.id
    const before = await newest()
    const error = await refused(client.batch.send([hello(), hello({ to: 'nobody' })]))
    expect(error).toMatchObject({ statusCode: 422, name: 'validation_error' })
    expect(await newest()).toBe(before)
  })

  test('batch.create: in permissive mode accepts valid emails and reports errors for the others', async () => {
    const answer = await taken(
      suite().client.batch.create([hello(), hello({ to: 'nobody' }), hello()], {
        batchValidation: 'permissive',
        idempotencyKey: 'batch-7',
      }),
    )
    expect(answer.data).toHaveLength(2)
    expect(answer.errors).toEqual([
      { index: 1, message: expect.stringContaining('Invalid `to` field') as string },
    ])
  })

  test('rejects invalid emails with the error codes and names that clients expect', async () => {
    const { client, appliance } = suite()
    for (const [more, expected] of [
      [{ from: 'x@elsewhere.test' }, { statusCode: 403, name: 'validation_error' }],
      [
        { to: undefined },
        { statusCode: 422, name: 'missing_required_field', message: 'Missing `to` field.' },
      ],
      [{ html: undefined }, { statusCode: 422, name: 'missing_required_field' }],
      [{ tags: [{ name: 'a b', value: 'c' }] }, { statusCode: 422, name: 'validation_error' }],
      [{ scheduledAt: '2001-01-01T00:00:00Z' }, { statusCode: 422, name: 'validation_error' }],
      [{ attachments: [{ filename: 'a' }] }, { statusCode: 422, name: 'invalid_attachment' }],
    ] as const)
      expect(await refused(client.emails.send(hello(more) as never))).toMatchObject(expected)
    expect(await refused(client.emails.get(NOBODY))).toMatchObject({
      statusCode: 404,
      message: 'Email not found',
    })
    expect(await refused(client.emails.get('x'))).toMatchObject({ statusCode: 422 })
    expect(appliance.url).toMatch(/^http:/)
  })
}
