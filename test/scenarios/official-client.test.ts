import { Resend } from 'resend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'

/** Runs the hosted service's official client unchanged, except for its base URL. */

let appliance: TestAppliance
let client: Resend

beforeAll(async () => {
  appliance = await startAppliance()
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
})

afterAll(() => appliance.close())

test('the official client sends an email and reads it back', async () => {
  const sent = await client.emails.send({
    from: `Acme <hello@${appliance.domain}>`,
    to: ['ada@customer.test', 'Grace <grace@customer.test>'],
    replyTo: 'support@customer.test',
    subject: 'Größe',
    html: '<p>It <b>works</b>.</p>',
    tags: [{ name: 'kind', value: 'welcome' }],
    attachments: [{ filename: 'a.txt', content: Buffer.from('attached').toString('base64') }],
  })
  expect(sent.error).toBeNull()
  const id = sent.data!.id

  const { data, error } = await client.emails.get(id)
  expect(error).toBeNull()
  expect(data).toMatchObject({
    object: 'email',
    id,
    from: `Acme <hello@${appliance.domain}>`,
    to: ['ada@customer.test', 'Grace <grace@customer.test>'],
    reply_to: ['support@customer.test'],
    subject: 'Größe',
    html: '<p>It <b>works</b>.</p>',
    text: 'It works.',
    cc: null,
    bcc: null,
    scheduled_at: null,
    tags: [{ name: 'kind', value: 'welcome' }],
  })

  await appliance.until(id, ({ deliveries }) => deliveries.every(({ state }) => state === 'delivered'))
  const list = await client.emails.list()
  expect(list.data?.data.map((email) => [email.id, email.last_event])).toContainEqual([id, 'delivered'])
})

test('the official client gets the reason for a rejection', async () => {
  const { data, error } = await client.emails.send({
    from: 'hello@elsewhere.test',
    to: 'ada@customer.test',
    subject: 'x',
    text: 'x',
  })
  expect(data).toBeNull()
  expect(error).toMatchObject({ statusCode: 403, name: 'validation_error' })
  expect(error!.message).toContain('elsewhere.test')
})

test('the official client gets invalid_api_key for a wrong key', async () => {
  const stranger = new Resend('re_00000000_wrong', { baseUrl: appliance.url })
  const { error } = await stranger.emails.get('0199c0de-0000-7000-8000-000000000000')
  expect(error).toMatchObject({ statusCode: 403, name: 'invalid_api_key' })
})
