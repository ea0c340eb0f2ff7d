import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, startApi, type Answer, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi({ trustProxy: ['127.0.0.1'] })
  api.forms.start()
})
afterAll(() => api.close())

const SITE = 'https://acme.example'
const FROM = 'Acme <news@acme.example>'

interface FormJson {
  id: string
  url: string
  html: string
  submitted: number
  confirmed: number
  [name: string]: unknown
}

const create = async (path: string, body: unknown): Promise<string> =>
  ((await api.call('POST', path, body)).json as { id: string }).id
const make = async (more: Record<string, unknown> = {}): Promise<FormJson> => {
  const answer = await api.call('POST', '/forms', {
    name: 'Newsletter',
    from: FROM,
    allowed_origins: [SITE],
    ...more,
  })
  expect(answer.status).toBe(201)
  return answer.json as FormJson
}
const read = async ({ id }: FormJson) => (await api.call('GET', `/forms/${id}`)).json as FormJson

/** Each visitor comes from an own address, so that the limits don't add up. */
let visitors = 0
const visitor = () => `192.0.2.${(visitors++ % 200) + 1}`
const submit = (
  form: FormJson,
  values: Record<string, string>,
  headers: Record<string, string> = { origin: SITE },
): Promise<Answer> =>
  ask(`${api.url}/f/${form.id}`, 'POST', new URLSearchParams(values).toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    'x-forwarded-for': visitor(),
    ...headers,
  })

/** Returns the messages to an address, oldest first, once there are so many. */
async function mailTo(email: string, number: number): Promise<string[]> {
  const list = async () => {
    const { items } = await api.storage.listEmails({ teamId: api.teamId, limit: 100 }, api.clock.now())
    return items.filter(({ to }) => to.includes(email)).toReversed()
  }
  await expect.poll(async () => (await list()).length).toBe(number)
  const found = await list()
  const bytes = await Promise.all(
    found.map(({ id }) => api.storage.getMessage({ emailId: id }, api.clock.now())),
  )
  return bytes.map((one) => Buffer.from(one!).toString('utf8').replaceAll('=\r\n', ''))
}

const linkIn = (message: string): string =>
  /https:\/\/links\.acme\.example(\/f\/confirm\/[\w-]{43})/.exec(message)![1]!
const visit = (method: string, path: string, headers: Record<string, string> = {}) =>
  ask(`${api.url}${path}`, method, undefined, { 'x-forwarded-for': visitor(), ...headers })
const contact = async (email: string) =>
  (await api.call('GET', `/contacts/${email}`)).json as Record<string, unknown>

describe('forms', () => {
  test('creates, lists, changes and deletes forms', async () => {
    const segment = await create('/segments', { name: 'Readers' })
    const topic = await create('/topics', { name: 'News', default_subscription: 'opt_out' })
    await create('/contact-properties', { key: 'company', type: 'string' })
    const form = await make({
      segment_ids: [segment],
      topic_ids: [topic],
      languages: ['de', 'en'],
      fields: [{ name: 'company', required: true }],
      words: { de: { title: 'Rundbrief', labels: { company: 'Firma' } } },
      submitted_url: 'https://acme.example/thanks',
    })
    expect(form).toMatchObject({
      object: 'form',
      status: 'enabled',
      segment_ids: [segment],
      topic_ids: [topic],
      url: `https://links.acme.example/f/${form.id}`,
      submitted: 0,
      confirmed: 0,
      confirmed_url: null,
      words: { de: { title: 'Rundbrief', text: null, labels: { company: 'Firma' } } },
    })
    expect(form.html).toContain(`<form action="${form.url}" method="post"`)
    expect(form.html).toContain('Firma')
    const changed = await api.call('PATCH', `/forms/${form.id}`, { status: 'disabled', words: { de: null } })
    expect(changed.json).toMatchObject({ status: 'disabled', words: {}, name: 'Newsletter' })
    const list = (await api.call('GET', '/forms')).json as { data: FormJson[] }
    expect(list.data.map(({ id }) => id)).toContain(form.id)
    expect((await api.call('DELETE', `/forms/${form.id}`)).json).toEqual({
      object: 'form',
      id: form.id,
      deleted: true,
    })
    expect((await api.call('GET', `/forms/${form.id}`)).status).toBe(404)
  })

  test.each([
    [{ from: 'news@other.example' }, 403, 'other.example'],
    [{ from: 'news@new.example' }, 403, 'new.example'],
    [{ from: 'nobody' }, 422, '`from`'],
    [{ name: ' ' }, 422, '`name`'],
    [{ segment_ids: [newId(0)] }, 404, 'Segment not found'],
    [{ topic_ids: [newId(0)] }, 404, 'Topic not found'],
    [{ fields: [{ name: 'nothing', required: false }] }, 422, '`fields[0].name`'],
    [{ languages: ['tlh'] }, 422, '`languages`'],
    [{ languages: [] }, 422, '`languages`'],
    [{ words: { en: { title: 'x'.repeat(101) } } }, 422, '`words.en.title`'],
    [{ words: { en: { subject: 'a\r\nBcc: b@c.example' } } }, 422, '`words.en.subject`'],
    [{ submitted_url: 'javascript:alert(1)' }, 422, '`submitted_url`'],
    [{ confirmed_url: 'https://user:pass@acme.example/' }, 422, '`confirmed_url`'],
    [{ allowed_origins: ['https://acme.example/page'] }, 422, '`allowed_origins[0]`'],
  ])('rejects a form with %j', async (more, status, words) => {
    const answer = await api.call('POST', '/forms', { name: 'Form', from: FROM, ...more })
    expect([answer.status, (answer.json as { message: string }).message]).toEqual([
      status,
      expect.stringContaining(words),
    ])
  })
})

describe('a sign-up', () => {
  test('a sign-up becomes a contact once the person confirms it on the linked page', async () => {
    const segment = await create('/segments', { name: 'Subscribers' })
    const topic = await create('/topics', { name: 'Offers', default_subscription: 'opt_out' })
    await create('/contact-properties', { key: 'city', type: 'string' })
    await create('/contact-properties', { key: 'age', type: 'number' })
    const fields = ['first_name', 'city', 'age'].map((name) => ({ name, required: true }))
    const form = await make({ fields, segment_ids: [segment], topic_ids: [topic] })
    const email = 'ada@reader.example'
    const values = { email, first_name: 'Ada<b>', 'properties.city': 'Köln & Bonn', 'properties.age': '36,5' }
    const answer = await submit(form, values)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Check your mailbox')])
    expect(answer.headers.getSetCookie()).toEqual([])
    expect((await api.call('GET', `/contacts/${email}`)).status).toBe(404)

    const [message = ''] = await mailTo(email, 1)
    expect(message).toContain('From: Acme <news@acme.example>')
    expect(message).toContain('Auto-Submitted: auto-generated')
    for (const typed of ['Ada', 'Köln', 'Bonn', '36,5']) expect(message).not.toContain(typed)
    const link = linkIn(message)
    for (const method of ['GET', 'HEAD', 'GET']) expect((await visit(method, link)).status).toBe(200)
    const page = await visit('GET', link)
    expect(page.text).toContain('a•••@reader.example')
    expect(page.text).toContain('If you unsubscribed earlier, this subscribes you again.')
    expect((await api.call('GET', `/contacts/${email}`)).status).toBe(404)

    const done = await visit('POST', link, { 'user-agent': 'Browser/1' })
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('You’re subscribed')])
    expect(await contact(email)).toMatchObject({
      email,
      first_name: 'Ada<b>',
      unsubscribed: false,
      properties: { city: { value: 'Köln & Bonn' }, age: { value: 36.5 } },
    })
    const { data: topics } = (await api.call('GET', `/contacts/${email}/topics`)).json as { data: unknown[] }
    expect(topics).toContainEqual(expect.objectContaining({ id: topic, subscription: 'opt_in' }))
    const { data: segments } = (await api.call('GET', `/contacts/${email}/segments`)).json as {
      data: unknown[]
    }
    expect(segments).toMatchObject([{ id: segment }])
    const { data: consents } = (await api.call('GET', `/contacts/${email}/consents`)).json as {
      data: unknown[]
    }
    const about = { origin: 'person', via: 'form', source_id: form.id, user_agent: 'Browser/1' }
    const wording = 'Subscribe\nGet email from Acme.\nSubscribe'
    expect(consents).toHaveLength(2)
    expect(consents).toContainEqual(
      expect.objectContaining({ ...about, wording_id: wording, topic_id: null }),
    )
    expect(consents).toContainEqual(
      expect.objectContaining({ ...about, wording_id: wording, topic_id: topic }),
    )
    expect(await read(form)).toMatchObject({ submitted: 1, confirmed: 1 })

    const again = await visit('POST', link)
    expect([again.status, again.text]).toEqual([410, expect.stringContaining('doesn’t work anymore')])
    expect(await read(form)).toMatchObject({ confirmed: 1 })
  })

  test('a sign-up lifts the opt-out of an existing or deleted contact, and records it in the consent log', async () => {
    const form = await make()
    for (const [email, isDeleted] of [
      ['back@reader.example', false],
      ['gone@reader.example', true],
    ] as const) {
      const id = await create('/contacts', { email, unsubscribed: true })
      if (isDeleted) await api.call('DELETE', `/contacts/${id}`)
      await submit(form, { email })
      const [message = ''] = await mailTo(email, 1)
      if (!isDeleted) expect(await contact(email)).toMatchObject({ unsubscribed: true })
      await visit('POST', linkIn(message))
      expect(await contact(email)).toMatchObject({ unsubscribed: false })
      const { data } = (await api.call('GET', `/contacts/${email}/consents`)).json as { data: unknown[] }
      expect(data[0]).toMatchObject({ via: 'form', was: 'opt_out', subscription: 'opt_in' })
      expect(data).toHaveLength(2)
    }
  })

  test('a sign-up gets the same response for new, known and suppressed addresses', async () => {
    const form = await make()
    await api.call('POST', '/suppressions', { email: 'blocked@reader.example' })
    await create('/contacts', { email: 'known@reader.example' })
    const answers = []
    for (const email of [
      'blocked@reader.example',
      'known@reader.example',
      'known@reader.example',
      'KNOWN@reader.example',
    ])
      answers.push(await submit(form, { email }))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    await mailTo('known@reader.example', 1)
    await mailTo('blocked@reader.example', 0)
    expect(await read(form)).toMatchObject({ submitted: 4 })
  })

  test('a sign-up sends at most one confirmation email an hour and three a day to an address', async () => {
    const [form, other] = [await make(), await make()]
    const email = 'often@reader.example'
    for (let hour = 0; hour < 5; hour++) {
      await submit(form, { email })
      await submit(other, { email })
      await mailTo(email, Math.min(hour + 1, 3))
      await api.clock.advance(61 * 60_000)
    }
  })

  test('a sign-up cannot be confirmed after 7 days', async () => {
    const form = await make()
    await submit(form, { email: 'late@reader.example' })
    const link = linkIn((await mailTo('late@reader.example', 1))[0]!)
    await api.clock.advance(7 * 86_400_000)
    expect((await visit('GET', link)).status).toBe(410)
    expect((await visit('POST', link)).status).toBe(410)
    expect((await api.call('GET', '/contacts/late@reader.example')).status).toBe(404)
  })

  test('a sign-up cannot be confirmed with a forged link, or after its form was deleted', async () => {
    const form = await make()
    await submit(form, { email: 'forged@reader.example' })
    const link = linkIn((await mailTo('forged@reader.example', 1))[0]!)
    const forged = link.slice(0, -2) + (link.at(-2) === 'A' ? 'B' : 'A') + link.at(-1)
    for (const path of [forged, '/f/confirm/x', `/f/confirm/${'A'.repeat(900)}`])
      for (const method of ['GET', 'POST']) expect((await visit(method, path)).status).toBe(404)
    await api.call('DELETE', `/forms/${form.id}`)
    expect((await visit('POST', link)).status).toBe(410)
  })

  test('invalid values show escaped errors, and no sign-up is stored', async () => {
    await create('/contact-properties', { key: 'size', type: 'number' })
    const form = await make({
      fields: [
        { name: 'last_name', required: true },
        { name: 'size', required: false },
      ],
    })
    const email = 'wrong@reader.example'
    for (const [values, words] of [
      [{ email: '"><script>', last_name: 'x' }, 'Enter an email address'],
      [{ email: `${'a'.repeat(250)}@reader.example`, last_name: 'x' }, 'Enter an email address'],
      [{ email }, 'Last name is missing.'],
      [{ email, last_name: 'x'.repeat(251) }, 'Last name is too long'],
      [{ email, last_name: 'a\r\nb' }, 'Last name is too long'],
      [{ email, last_name: 'x', 'properties.size': 'big' }, 'size must be a number.'],
      [{ email, last_name: 'x', 'properties.size': 'Infinity' }, 'size must be a number.'],
    ] as [Record<string, string>, string][]) {
      const answer = await submit(form, values)
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(words)])
      expect(answer.text).not.toContain('<script>')
    }
    expect((await submit(form, { email, last_name: 'x'.repeat(70_000) })).status).toBe(413)
    expect(await read(form)).toMatchObject({ submitted: 0 })
  })
})

describe('abuse of forms', () => {
  test('a filled honeypot field gets the usual response, and no sign-up is stored', async () => {
    const form = await make()
    const answer = await submit(form, { email: 'bot@reader.example', website: 'https://spam.example' })
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Check your mailbox')])
    expect(await read(form)).toMatchObject({ submitted: 0 })
  })

  test('a form is accepted only from allowed sites, or from its own page after a short wait', async () => {
    const form = await make()
    const email = 'site@reader.example'
    const headers = [{}, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<string, string>[]
    for (const one of headers) {
      const answer = await submit(form, { email }, one)
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(form.url)])
    }
    const page = await visit('GET', `/f/${form.id}`)
    const shown = /name="shown" value="([^"]+)"/.exec(page.text)![1]!
    expect(await submit(form, { email, shown }, {})).toMatchObject({ status: 400 })
    await api.clock.advance(2000)
    expect((await submit(form, { email, shown: `${shown}x` }, {})).status).toBe(403)
    expect((await submit(await make(), { email, shown }, {})).status).toBe(403)
    expect(await submit(form, { email, shown }, {})).toMatchObject({ status: 200 })
    await api.clock.advance(25 * 3_600_000)
    expect(await submit(form, { email, shown }, {})).toMatchObject({ status: 400 })
  })

  test('a network can sign up 20 addresses an hour, and an IPv6 /48 counts as one network', async () => {
    const form = await make()
    const from = (at: number) => ({ origin: SITE, 'x-forwarded-for': `2001:db8:5:${at.toString(16)}::1` })
    for (let at = 0; at < 20; at++)
      expect((await submit(form, { email: `n${at}@reader.example` }, from(at))).status).toBe(200)
    const answer = await submit(form, { email: 'n20@reader.example' }, from(20))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '3600'])
    expect((await submit(form, { email: 'n21@reader.example' })).status).toBe(200)
  })

  test('a form is closed if it is disabled, or its domain is no longer verified', async () => {
    const form = await make()
    await api.call('PATCH', `/forms/${form.id}`, { status: 'disabled' })
    expect((await visit('GET', `/f/${form.id}`)).status).toBe(410)
    expect((await submit(form, { email: 'closed@reader.example' })).status).toBe(410)
    const { id, teamId } = api.domain
    const open = await make()
    await api.storage.saveDomainCheck({ teamId, id, status: 'failed', checks: [] }, api.clock.now())
    expect((await submit(open, { email: 'closed@reader.example' })).status).toBe(410)
    await api.storage.saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, api.clock.now())
    expect((await submit(open, { email: 'closed@reader.example' })).status).toBe(200)
  })
})

test('the form page uses the form’s languages, allows no scripts, and can redirect to the team’s pages', async () => {
  const form = await make({
    languages: ['de', 'fr'],
    submitted_url: 'https://acme.example/danke',
    confirmed_url: 'https://acme.example/da',
    words: { de: { title: '<b>Rundbrief</b>', consent: 'Ich willige ein.' } },
  })
  const page = await visit('GET', `/f/${form.id}`, { 'accept-language': 'en' })
  expect(page.text).toContain('<html lang="de">')
  expect(page.text).toContain('&lt;b&gt;Rundbrief&lt;/b&gt;')
  expect(page.text).toContain('Ich willige ein.')
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("form-action 'self' https://acme.example;")
  expect((await visit('GET', `/f/${form.id}`, { 'accept-language': 'fr' })).text).toContain(
    '<html lang="fr">',
  )
  const sent = await submit(form, { email: 'fr@reader.example', language: 'fr' })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, 'https://acme.example/danke'])
  const [message = ''] = await mailTo('fr@reader.example', 1)
  expect(message).toContain('=?')
  const done = await visit('POST', linkIn(message))
  expect([done.status, done.headers.get('location')]).toEqual([303, 'https://acme.example/da'])
  for (const path of [`/f/${newId(0)}`, '/f/x']) {
    expect((await visit('GET', path)).status).toBe(404)
    expect((await visit('POST', path)).status).toBe(404)
  }
})
