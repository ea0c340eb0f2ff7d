import { afterAll, beforeAll, expect, test } from 'vitest'
import { hello, startApi, type Api } from './harness.ts'

let api: Api
let topic: string
beforeAll(async () => {
  api = await startApi()
  topic = await make('/topics', { name: 'News', default_subscription: 'opt_in' })
  const topics = [{ id: topic, subscription: 'opt_out' }]
  await make('/contacts', { email: 'out@customer.example', topics })
})
afterAll(() => api.close())

async function make(path: string, body: unknown): Promise<string> {
  const { status, json } = await api.call('POST', path, body)
  expect(status).toBeLessThan(300)
  return (json as { id: string }).id
}

const statesOf = async (id: string) => {
  const { json } = await api.call('GET', `/emails/${id}/timeline`)
  const { deliveries } = json as { deliveries: { recipient: string; state: string }[] }
  return deliveries.map(({ recipient, state }) => [recipient, state])
}
const lastEvent = async (id: string) =>
  ((await api.call('GET', `/emails/${id}`)).json as { last_event: string }).last_event
const unknown = '00000000-0000-7000-8000-000000000000'
const noTopic = 'Invalid `topic_id` field: the id of a topic of your team.'

test('checks the topic for each recipient separately', async () => {
  const mail = {
    ...hello,
    to: 'in@customer.example',
    cc: ['Out@customer.example'],
    bcc: 'too@customer.example',
  }
  const id = await make('/emails', { ...mail, topicId: topic.toUpperCase() })
  expect(await statesOf(id)).toEqual([
    ['in@customer.example', 'waiting'],
    ['Out@customer.example', 'failed'],
    ['too@customer.example', 'waiting'],
  ])
  expect(await lastEvent(id)).toBe('queued')
})

test('a recipient who opted out gets no email, not even on resend, and the timeline shows why', async () => {
  const id = await make('/emails', { ...hello, to: 'out@customer.example', topic_id: topic })
  const again = await make(`/emails/${id}/resend`, undefined)
  for (const one of [id, again]) {
    expect(await lastEvent(one)).toBe('failed')
    const cause = { by: 'recipient', note: 'Not sent: the recipient unsubscribed from the topic "News".' }
    expect((await api.call('GET', `/emails/${one}/timeline`)).json).toMatchObject({
      deliveries: [{ state: 'failed', attempts: 0, cause }],
      events: [{ type: 'email.failed' }],
    })
  }
})

test('an empty topic counts as unset, and an unknown one is rejected', async () => {
  for (const topic_id of ['', null])
    expect(await statesOf(await make('/emails', { ...hello, to: 'out@customer.example', topic_id }))).toEqual(
      [['out@customer.example', 'waiting']],
    )
  const refused = async (body: unknown) => {
    const { status, json } = await api.call('POST', '/emails', body)
    return [status, (json as { message: string }).message]
  }
  expect(await refused({ ...hello, topic_id: unknown })).toEqual([422, noTopic])
  expect(await refused({ ...hello, topic_id: 'News' })).toEqual([422, 'The `topic_id` must be a valid UUID.'])
  const { status, text } = await api.call('POST', '/emails', {
    ...hello,
    headers: { 'X-Posthaste-Topic': topic },
  })
  expect([status, text]).toEqual([422, expect.stringContaining('use the `topic_id` field')])
})

test('each email in a batch has its own topic', async () => {
  const to = 'out@customer.example'
  const batch = [
    { ...hello, to, topic_id: topic },
    { ...hello, to },
    { ...hello, topic_id: unknown },
  ]
  const strict = await api.call('POST', '/emails/batch', batch)
  expect([strict.status, strict.text]).toEqual([422, expect.stringContaining(noTopic)])
  const permissive = { 'x-batch-validation': 'permissive' }
  const { json } = await api.call('POST', '/emails/batch', batch, permissive)
  const { data, errors } = json as { data: { id: string }[]; errors: unknown }
  expect(errors).toEqual([{ index: 2, message: noTopic }])
  expect(await Promise.all(data.map(({ id }) => lastEvent(id)))).toEqual(['failed', 'queued'])
})
