import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadProviderRules } from '../../../appliance/config/config.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { change, leaseArgs, putEmail } from '../../contract/fixtures.ts'
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
  const shipped = loadProviderRules()
  const providers = shipped.providers.map((one) => ({ ...one, bulk: 2 }))
  api = await startApi({ rules: { ...shipped, providers } })
  segment = await made('/segments', { name: 'Readers' })
  await made('/contacts', { email: 'ada@customer.example', segments: [segment] })
})
afterAll(() => api.close())

const draft = (more: object = {}) =>
  made('/broadcasts', {
    segment_id: segment,
    from: 'Shop <shop@acme.example>',
    subject: 'Spring',
    html: '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    ...more,
  })
/** Returns the note of a check; undefined if the check isn't listed. */
async function noteOf(id: string, check: string): Promise<string | undefined> {
  const { json } = await api.call('GET', `/broadcasts/${id}/review`)
  const { findings } = json as { findings: { id: string; note: string }[] }
  return findings.find((one) => one.id === check)?.note
}
const sendTest = (id: string, to: string[]) => api.call('POST', `/broadcasts/${id}/test`, { to })

test('the review shows whether a test was sent since the content changed', async () => {
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

test('the review reports a broadcast similar to one sent in the last 24 hours', async () => {
  const others = await made('/segments', { name: 'Others' })
  const [same, elsewhere] = [await draft({ subject: 'Summer' }), await draft({ segment_id: others })]
  const well = 'No similar broadcast was sent in the last 24 hours.'
  expect(await noteOf(same, 'repeat')).toBe(well)
  const sent = await draft({ name: 'First' })
  expect((await api.call('POST', `/broadcasts/${sent}/send`)).status).toBe(200)
  await api.clock.set(api.clock.now() + 2 * 3_600_000)
  expect(await noteOf(same, 'repeat')).toBe('“First” has the same segment, and was sent 2 h ago.')
  expect(await noteOf(elsewhere, 'repeat')).toBe('“First” has the same subject, and was sent 2 h ago.')
  await api.clock.set(api.clock.now() + 22 * 3_600_000 + 1)
  expect(await noteOf(same, 'repeat')).toBe(well)
})

test('the review lists all links with their text, target and count', async () => {
  const html = `<p><a href="https://shop.example/sale">The  sale</a> <a href="https://shop.example/sale">The sale</a>
    <a href=" https://shop.example/x?id={{{contact.email}}} "><img src="https://shop.example/a.png" alt="A pair of shoes"></a>
    <a href="mailto:help@acme.example">Ask us</a> <a href="javascript:alert(1)"></a> <a name="top">Top</a>
    <a href="{{{ UNSUBSCRIBE_URL }}}">Unsubscribe</a></p>`
  const linksOf = async (content: object) => {
    const { json } = await api.call('GET', `/broadcasts/${await draft(content)}/review`)
    return (json as { links: object[] }).links
  }
  expect(await linksOf({ html })).toEqual([
    { text: 'The sale', url: 'https://shop.example/sale', kind: 'web', count: 2 },
    {
      text: 'A pair of shoes',
      url: 'https://shop.example/x?id={{{contact.email}}}',
      kind: 'merge_tag',
      count: 1,
    },
    { text: 'Ask us', url: 'mailto:help@acme.example', kind: 'other', count: 1 },
    { text: '', url: 'javascript:alert(1)', kind: 'other', count: 1 },
    { text: 'Unsubscribe', url: '{{{ UNSUBSCRIBE_URL }}}', kind: 'unsubscribe', count: 1 },
  ])
  const text = 'See https://shop.example/a). Leave: {{{UNSUBSCRIBE_URL}}}'
  expect(await linksOf({ html: null, text })).toEqual([
    { text: '', url: 'https://shop.example/a', kind: 'web', count: 1 },
    { text: '', url: '{{{UNSUBSCRIBE_URL}}}', kind: 'unsubscribe', count: 1 },
  ])
})

test('the review estimates when sending will be done, by warm-up and rate, in total and for each provider', async () => {
  const { storage, clock, teamId } = api
  const many = await made('/segments', { name: 'Warm' })
  const emails = Array.from({ length: 200 }, (_, n) => `reader${n}@warm.example`)
  await api.call('POST', '/contacts/batch/add', { emails, segment_ids: [many] })
  await putEmail(storage, teamId, ['first@warm.example'], clock.now())
  await storage.place({ domain: 'warm.example', provider: 'google', after: undefined }, clock.now())
  const ip = '2001:db8::25'
  expect((await api.call('POST', '/sources', { ip })).status).toBe(201)
  const id = await draft({ segment_id: many })
  interface Forecast {
    providers: { name: string; contacts: number; hours: number; limited_by: string }[]
    forecast: { hours: number; done_at: string }
  }
  const forecast = async () => (await api.call('GET', `/broadcasts/${id}/review`)).json as Forecast
  const free = await forecast()
  expect(free.providers).toMatchObject([{ name: 'Google', contacts: 200, limited_by: 'lanes' }])
  expect(free.forecast.hours).toBe(free.providers[0]!.hours)
  expect(free.forecast.hours).toBeLessThan(24)

  // Two IPs of the pool send 50 each today, so that half of 200 wait for the second day.
  await api.call('PATCH', '/providers/google', { warm_up: [50, 100, 200] })
  for (const source of [ip, '192.0.2.1'])
    expect((await api.call('PATCH', `/sources/${source}`, { warm_up: true })).status).toBe(200)
  const warm = await forecast()
  expect(warm.providers).toMatchObject([{ limited_by: 'warm_up' }])
  const untilMidnight = (86_400_000 - (clock.now() % 86_400_000)) / 3_600_000
  expect(warm.forecast.hours).toBeGreaterThan(untilMidnight - 0.2)
  expect(warm.forecast.hours).toBeLessThan(untilMidnight + 24)
  const done = Date.parse(`${warm.forecast.done_at.replace(' ', 'T')}:00`)
  expect(Math.abs(done - clock.now() - warm.forecast.hours * 3_600_000)).toBeLessThan(60_000)

  await api.call('PATCH', `/broadcasts/${id}`, { emails_per_hour: 2 })
  const slow = await forecast()
  expect(slow.providers).toMatchObject([{ hours: 100, limited_by: 'rate' }])
  expect(slow.forecast.hours).toBe(100)
})

test('limits test emails of a team per hour, and does not count rejected ones', async () => {
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
  // The clock runs on: these requests take a few seconds on a slow machine.
  expect(Number(refused.headers.get('retry-after'))).toSatisfy((n: number) => n > 3500 && n <= 3600)
  expect((await sendTest(id, five.slice(0, 2))).status).toBe(200)
  expect((await sendTest(id, five.slice(0, 1))).status).toBe(429)
  await api.clock.set(api.clock.now() + hour)
  expect((await sendTest(id, five)).status).toBe(200)
})

test('rejects a sender or Reply-To address with a merge tag, because nothing would fill it', async () => {
  const id = await draft()
  for (const change of [
    { from: '{{{FIRST_NAME}}} <a@acme.example>' },
    { reply_to: '"{{{KEY}}}" <a@acme.example>' },
  ])
    expect(await api.call('PATCH', `/broadcasts/${id}`, change)).toMatchObject({
      status: 422,
      json: { message: `Invalid \`${Object.keys(change)[0]!}\` field: an address without merge tags.` },
    })
})

test('lists the drafts for a contact, with whether and why the contact would get each', async () => {
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

test('a property says which templates, drafts, segments, forms and automations use it', async () => {
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
  const form = await made('/forms', {
    name: 'Choose a plan',
    from: 'news@acme.example',
    fields: [{ name: 'plan', required: true }],
  })
  await made('/forms', {
    name: 'Planned',
    from: 'news@acme.example',
    fields: [{ name: 'planned', required: true }],
  })
  const automation = (name: string, type: string, config: object) =>
    made('/automations', {
      name,
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'joined' } },
        { key: 'end', type, config },
      ],
      connections: [{ from: 'start', to: 'end' }],
    })
  await automation('Sets planned', 'contact_update', { properties: { planned: 'plan' } })
  const sets = await automation('Sets the plan', 'contact_update', { properties: { plan: 'pro' } })
  const asks = await automation('Asks for the plan', 'condition', filter)
  expect(await uses()).toEqual([
    { object: 'template', id: template, name: 'Plans' },
    { object: 'broadcast', id: broadcast, name: 'About plans' },
    { object: 'segment', id: ruled, name: 'On a plan' },
    { object: 'form', id: form, name: 'Choose a plan' },
    { object: 'automation', id: asks, name: 'Asks for the plan' },
    { object: 'automation', id: sets, name: 'Sets the plan' },
  ])
})

test('a contact property has examples: different values of the team’s newest contacts', async () => {
  const property = await made('/contact-properties', { key: 'color', type: 'string' })
  const examples = async (id = property) => {
    const { json } = await api.call('GET', `/contact-properties/${id}`)
    return (json as { examples: unknown[] }).examples
  }
  expect(await examples()).toEqual([])
  for (const [n, color] of ['red', 'green', 'green', 'blue', 'white'].entries())
    await made('/contacts', { email: `paint${n}@customer.example`, properties: { color } })
  await made('/contacts', { email: 'plain@customer.example' })
  expect(await examples()).toEqual(['white', 'blue', 'green'])
  const number = await made('/contact-properties', { key: 'visits', type: 'number' })
  await made('/contacts', { email: 'paint0@customer.example', properties: { visits: 7 } })
  expect(await examples(number)).toEqual([7])
})

describe('rules of mailbox providers', () => {
  const verdictOf = async (id: string, check: string) => {
    const { json } = await api.call('GET', `/broadcasts/${id}/review`)
    const { findings } = json as { findings: { id: string; verdict: string }[] }
    return findings.find((one) => one.id === check)?.verdict
  }
  const domainIs = async (status: 'verified' | 'pending') => {
    const { id } = api.domain
    const checks = ['DKIM', 'SPF', 'DMARC'].map((key) => ({
      key,
      status: key === 'DMARC' ? status : ('verified' as const),
      found: [],
      note: null,
      checkedAt: 0,
      since: 0,
    }))
    const check = { teamId: api.teamId, id, status: 'verified' as const, checks }
    await api.storage.saveDomainCheck(check, api.clock.now())
  }
  const setMode = async (mode: string) =>
    expect((await api.call('PUT', '/provider-rules', { mode })).json).toMatchObject({ mode })
  const REASON =
    'acme.example has no valid DMARC record, which bulk mail to Gmail, Yahoo and Outlook.com needs: publish the one shown for acme.example under Domains.'

  test('the review warns of broken provider rules, unless the team blocks such mail or turned the rules off', async () => {
    const id = await draft({ subject: 'Rules' })
    await domainIs('pending')
    expect(await verdictOf(id, 'rule-dmarc')).toBe('attention')
    expect(await verdictOf(id, 'dmarc')).toBeUndefined()
    await setMode('off')
    expect(await verdictOf(id, 'rule-dmarc')).toBeUndefined()
    expect(await verdictOf(id, 'dmarc')).toBe('attention')
    await setMode('block')
    expect(await verdictOf(id, 'rule-dmarc')).toBe('block')
    await domainIs('verified')
    expect(await verdictOf(id, 'rule-dmarc')).toBe('pass')
    await setMode('warn')
  })

  test('a broadcast that breaks provider rules is rejected with the reason, now or when scheduled', async () => {
    const [now, later] = [await draft({ subject: 'Now' }), await draft({ subject: 'Later' })]
    await domainIs('pending')
    await setMode('block')
    const message = `Your team blocks bulk mail that breaks rules of mailbox providers, and this would. ${REASON}`
    const refused = { statusCode: 422, name: 'validation_error', message }
    expect((await api.call('POST', `/broadcasts/${now}/send`)).json).toEqual(refused)
    const at = { scheduled_at: new Date(api.clock.now() + 3_600_000).toISOString() }
    expect((await api.call('POST', `/broadcasts/${later}/send`, at)).json).toEqual(refused)
    await domainIs('verified')
    expect((await api.call('POST', `/broadcasts/${later}/send`, at)).status).toBe(200)
    await domainIs('pending')
    await setMode('warn')
    expect((await api.call('POST', `/broadcasts/${now}/send`)).status).toBe(200)
  })

  const deliver = async (address: string) => {
    const { storage, teamId, clock, domain } = api
    const { id } = await putEmail(storage, teamId, [address], clock.now(), { domainId: domain.id })
    const leased = await storage.lease(leaseArgs({ leaseUntil: clock.now() + 3_600_000 }), clock.now())
    const done = change(leased.find((one) => one.emailId === id)!.id, 'delivered', 'email.delivered')
    const event = { ...done.event!, id: newId(clock.now()) }
    await storage.settle({ owner: 'one', attempt: null, changes: [{ ...done, event }] }, clock.now())
  }

  test('other mail is rejected only to providers to which the domain sends bulk mail', async () => {
    await domainIs('pending')
    await setMode('block')
    const to = (address: string) =>
      api.call('POST', '/emails', {
        from: 'Shop <shop@acme.example>',
        to: address,
        subject: 'Hi',
        text: 'Hi',
      })
    expect((await to('ada@gmail.com')).status).toBe(200)
    await deliver('bob@gmail.com')
    await deliver('eve@gmail.com')
    await api.clock.set(api.clock.now() + 60_000)
    const refused = await to('ada@gmail.com')
    expect([refused.status, (refused.json as { message: string }).message]).toEqual([
      422,
      `Your team blocks bulk mail that breaks rules of mailbox providers, and this would. ${REASON.replace('Gmail, Yahoo and Outlook.com', 'Gmail')}`,
    ])
    expect((await to('ada@customer.example')).status).toBe(200)
    expect((await to('ada@yahoo.com')).status).toBe(200)
    const { json } = await api.call('GET', `/domains/${api.domain.id}/provider-rules`)
    expect(json).toMatchObject({ object: 'domain_provider_rules', domain_id: api.domain.id, mode: 'block' })
    expect((json as { providers: object[] }).providers[0]).toEqual({
      provider: 'google',
      name: 'Gmail',
      bulk_from: 2,
      messages: 2,
      bulk: true,
    })
    await setMode('warn')
    await api.clock.set(api.clock.now() + 60_000)
    expect((await to('ada@gmail.com')).status).toBe(200)
  })
})

test('counts the recipients of a draft like the review, with the reasons for leaving out others', async () => {
  const readers = await made('/segments', { name: 'Counted' })
  const out = await made('/segments', { name: 'Left out' })
  const topic = await made('/topics', { name: 'Counted', default_subscription: 'opt_in' })
  const join = (name: string, more: object = {}) =>
    made('/contacts', { email: `${name}@counted.example`, segments: [readers], ...more })
  await join('gets')
  await join('left', { unsubscribed: true })
  await join('excluded', { segments: [readers, out] })
  await join('off', { topics: [{ id: topic, subscription: 'opt_out' }] })
  await join('stopped')
  await api.call('POST', '/suppressions', { email: 'stopped@counted.example' })
  const id = await draft({ segment_id: readers })
  const count = async (of = id) => (await api.call('GET', `/broadcasts/${of}/eligible`)).json
  expect(await count()).toMatchObject({ contacts: 5, eligible: 3, estimated: false })
  await api.call('PATCH', `/broadcasts/${id}`, { topic_id: topic, exclude_segment_ids: [out] })
  expect(await count()).toEqual({
    object: 'broadcast_eligible',
    id,
    contacts: 5,
    eligible: 1,
    estimated: false,
    out: { unsubscribed: 1, topic: 1, suppressed: 1, excluded: 1 },
  })
  const { recipients } = (await api.call('GET', `/broadcasts/${id}/review`)).json as { recipients: object }
  expect(await count()).toMatchObject(recipients)
  for (const unknown of [newId(0), 'no-id'])
    expect((await api.call('GET', `/broadcasts/${unknown}/eligible`)).status).toBeGreaterThanOrEqual(404)
})
