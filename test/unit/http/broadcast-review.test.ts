import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type Api } from './harness.ts'

/** Tests the review of a draft before sending, and test emails. */

let api: Api
let segment: string
const made = async (path: string, body: object): Promise<string> => {
  const { status, json } = await api.call('POST', path, body)
  expect([status, json]).toMatchObject([201, {}])
  return (json as { id: string }).id
}
beforeAll(async () => {
  api = await startApi()
  segment = await made('/segments', { name: 'Readers' })
  await made('/contacts', { email: 'ada@customer.example', segments: [segment] })
})
afterAll(() => api.close())

const draft = (more: object = {}) =>
  made('/broadcasts', {
    ...{ segment_id: segment, from: 'Shop <shop@acme.example>', subject: 'Spring' },
    ...{ html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>', ...more },
  })
/** Returns the note of a check; undefined if the check isn't listed. */
async function noteOf(id: string, check: string): Promise<string | undefined> {
  const { json } = await api.call('GET', `/broadcasts/${id}/review`)
  const { findings } = json as { findings: { id: string; note: string }[] }
  return findings.find((one) => one.id === check)?.note
}
const sendTest = (id: string, to: string[]) => api.call('POST', `/broadcasts/${id}/test`, { to })

test('the review knows whether a test was sent since the content changed', async () => {
  const id = await draft()
  const none = 'No test was sent since the last change.'
  expect(await noteOf(id, 'tested')).toBe(none)
  expect((await sendTest(id, ['ada@customer.example'])).status).toBe(200)
  expect(await noteOf(id, 'tested')).toBe('A test was sent since the last change.')
  await api.call('PATCH', `/broadcasts/${id}`, { name: 'Renamed', topic_id: null })
  expect(await noteOf(id, 'tested')).toBe('A test was sent since the last change.')
  await api.call('PATCH', `/broadcasts/${id}`, { preview_text: 'Books' })
  expect(await noteOf(id, 'tested')).toBe(none)
})

test('a broadcast like one of the last 24 hours is noticed', async () => {
  const others = await made('/segments', { name: 'Others' })
  const [same, elsewhere] = [await draft({ subject: 'Summer' }), await draft({ segment_id: others })]
  const well = 'Nothing like it was sent in the last 24 hours.'
  expect(await noteOf(same, 'repeat')).toBe(well)
  const sent = await draft({ name: 'First' })
  expect((await api.call('POST', `/broadcasts/${sent}/send`)).status).toBe(200)
  await api.clock.set(api.clock.now() + 2 * 3_600_000)
  expect(await noteOf(same, 'repeat')).toBe('“First” has the same segment, and was sent 2 h ago.')
  expect(await noteOf(elsewhere, 'repeat')).toBe('“First” has the same subject, and was sent 2 h ago.')
  await api.clock.set(api.clock.now() + 22 * 3_600_000 + 1)
  expect(await noteOf(same, 'repeat')).toBe(well)
})

test('a team has so many tests an hour, and a refused one counts nothing', async () => {
  const id = await draft()
  const five = Array.from({ length: 5 }, (_, n) => `tester${n}@customer.example`)
  const hour = 3_600_000
  await api.clock.set(Math.ceil((api.clock.now() + 1) / hour) * hour)
  for (let n = 0; n < 11; n++) expect((await sendTest(id, five)).status).toBe(200)
  expect((await sendTest(id, five.slice(0, 3))).status).toBe(200)
  const refused = await sendTest(id, five)
  expect(refused.status).toBe(429)
  expect(refused.json).toEqual({
    statusCode: 429,
    message:
      'A team can send 60 test emails an hour, so that tests are not used to send to readers. Try again in 60 minutes.',
    name: 'rate_limit_exceeded',
  })
  expect(refused.headers.get('retry-after')).toBe('3600')
  expect((await sendTest(id, five.slice(0, 2))).status).toBe(200)
  expect((await sendTest(id, five.slice(0, 1))).status).toBe(429)
  await api.clock.set(api.clock.now() + hour)
  expect((await sendTest(id, five)).status).toBe(200)
})

test('an address with a merge tag is refused, because nothing would fill it', async () => {
  const id = await draft()
  for (const change of [
    { from: '{{{FIRST_NAME}}} <a@acme.example>' },
    { reply_to: '"{{{KEY}}}" <a@acme.example>' },
  ])
    expect(await api.call('PATCH', `/broadcasts/${id}`, change)).toMatchObject({
      ...{ status: 422 },
      json: { message: `Invalid \`${Object.keys(change)[0]!}\` field: an address without merge tags.` },
    })
})

test('a contact has a list of what it would get', async () => {
  const other = await made('/segments', { name: 'Elsewhere' })
  const topic = await made('/topics', { name: 'Offers', default_subscription: 'opt_out' })
  const eva = await made('/contacts', { email: 'eva@customer.example', segments: [segment] })
  const ids = {
    eligible: await draft({ name: 'Plain' }),
    not_in_segment: await draft({ name: 'Other', segment_id: other }),
    excluded: await draft({ name: 'Not them', exclude_segment_ids: [segment] }),
    topic: await draft({ name: 'Offers', topic_id: topic }),
  }
  const later = await draft({ name: 'Later' })
  const scheduledAt = new Date(api.clock.now() + 3_600_000).toISOString()
  await api.call('POST', `/broadcasts/${later}/send`, { scheduled_at: scheduledAt })
  const list = async (contact: string) => {
    const { json } = await api.call('GET', `/contacts/${contact}/broadcasts`)
    return (json as { data: { id: string; status: string; prospect: string }[] }).data
  }
  const found = await list('eva@customer.example')
  expect(found[0]).toMatchObject({ id: later, status: 'scheduled', prospect: 'eligible' })
  const prospects = Object.fromEntries(found.map(({ id, prospect }) => [id, prospect]))
  for (const [prospect, id] of Object.entries(ids)) expect(prospects[id]).toBe(prospect)
  await api.call('PATCH', `/contacts/${eva}`, { unsubscribed: true })
  expect(new Set((await list(eva)).map(({ prospect }) => prospect))).toEqual(
    new Set(['unsubscribed', 'not_in_segment', 'excluded']),
  )
  expect((await api.call('GET', '/contacts/nobody@customer.example/broadcasts')).status).toBe(404)
})

test('a property says which templates, drafts and segments use it', async () => {
  const property = await made('/contact-properties', { key: 'plan', type: 'string' })
  await made('/contact-properties', { key: 'planned', type: 'string' })
  const uses = async () => {
    const { json } = await api.call('GET', `/contact-properties/${property}`)
    return (json as { used_in: object[] }).used_in
  }
  const html = '<p>{{{contact.planned}}} contact.plan {{{plan}}}</p>'
  const template = await made('/templates', { name: 'Plans', html })
  expect(await uses()).toEqual([])
  await api.call('PATCH', `/templates/${template}`, { html: '<p>{{{ contact.properties.plan |none}}}</p>' })
  const broadcast = await draft({ name: 'About plans', subject: 'Your {{{contact.plan}}}' })
  const filter = { type: 'rule', field: 'contact.properties.plan', operator: 'eq', value: 'pro' }
  const ruled = await made('/segments', { name: 'On a plan', filter })
  expect(await uses()).toEqual([
    { object: 'template', id: template, name: 'Plans' },
    { object: 'broadcast', id: broadcast, name: 'About plans' },
    { object: 'segment', id: ruled, name: 'On a plan' },
  ])
})
