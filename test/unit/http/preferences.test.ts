import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, startApi, type Answer, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const ONE_CLICK = 'List-Unsubscribe=One-Click'
const MULTIPART = [
  '--b0und',
  'Content-Disposition: form-data; name="List-Unsubscribe"',
  '',
  'One-Click',
  '--b0und--',
  '',
].join('\r\n')

let made = 0
interface Person {
  id: string
  email: string
  topic: string
}

const create = async (path: string, body: unknown): Promise<string> =>
  ((await api.call('POST', path, body)).json as { id: string }).id

/** Creates a contact, and a topic that everyone is subscribed to. */
async function person(): Promise<Person> {
  const email = `person${++made}@customer.example`
  const topic = await create('/topics', { name: `Topic ${made}`, default_subscription: 'opt_in' })
  return { id: await create('/contacts', { email }), email, topic }
}

const tokenFor = ({ id, email }: Person, topicId: string | null = null): string =>
  api.tokens.sign({ teamId: api.teamId, contactId: id, address: email, topicId, sourceId: null })
const visit = (method: string, token: string, body?: string, headers: Record<string, string> = form) =>
  ask(`${api.url}/u/${token}`, method, body, headers)

/** Returns whether the contact gets mail at all, and mail about the topic. */
async function state({ id, topic }: Person): Promise<[boolean, string | undefined]> {
  const { unsubscribed } = (await api.call('GET', `/contacts/${id}`)).json as { unsubscribed: boolean }
  const { data } = (await api.call('GET', `/contacts/${id}/topics`)).json as {
    data: { id: string; subscription: string }[]
  }
  return [unsubscribed, data.find((one) => one.id === topic)?.subscription]
}
const consents = async ({ id }: Person) =>
  ((await api.call('GET', `/contacts/${id}/consents`)).json as { data: Record<string, unknown>[] }).data
const IN = [false, 'opt_in']

describe('one-click (RFC 8058)', () => {
  test.each([
    ['urlencoded, at the URL of the page', '', ONE_CLICK, form],
    ['urlencoded, at its own URL', '/one-click', ONE_CLICK, form],
    [
      'multipart, at the URL of the page',
      '',
      MULTIPART,
      { 'content-type': 'multipart/form-data; boundary=b0und' },
    ],
    [
      'multipart, at its own URL',
      '/one-click',
      MULTIPART,
      { 'content-type': 'multipart/form-data; boundary="b0und"' },
    ],
    ['of another content type', '', ONE_CLICK, { 'content-type': 'text/plain' }],
  ])('one-click opts out of everything: %s', async (_, path, body, headers) => {
    const who = await person()
    const answer = await visit('POST', tokenFor(who) + path, body, { ...headers, 'user-agent': 'Provider/1' })
    expect([answer.status, answer.text]).toEqual([200, 'You are unsubscribed.\n'])
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await state(who)).toEqual([true, 'opt_in'])
    expect(await consents(who)).toMatchObject([
      {
        topic_id: null,
        subscription: 'opt_out',
        origin: 'person',
        via: 'one_click',
        ip: '127.0.0.1',
        user_agent: 'Provider/1',
      },
    ])
  })

  test('one-click opts out of the topic of the email, and repeating it changes nothing', async () => {
    const who = await person()
    for (let round = 0; round < 3; round++) {
      expect((await visit('POST', tokenFor(who, who.topic), ONE_CLICK)).status).toBe(200)
      expect(await state(who)).toEqual([false, 'opt_out'])
    }
    expect(await consents(who)).toHaveLength(1)
  })

  test('one-click opts out of everything if the topic was deleted', async () => {
    const who = await person()
    await api.call('DELETE', `/topics/${who.topic}`)
    expect((await visit('POST', tokenFor(who, who.topic), ONE_CLICK)).status).toBe(200)
    expect((await state(who))[0]).toBe(true)
  })

  test('one-click accepts 300 concurrent requests from one address', async () => {
    const who = await person()
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => visit('POST', tokenFor(who), ONE_CLICK)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })
})

describe("requests that don't unsubscribe", () => {
  const purposes = { 'sec-purpose': 'prefetch;prerender', purpose: 'prefetch', 'x-moz': 'prefetch' }
  test.each([
    ['GET', '', undefined, {}],
    ['HEAD', '', undefined, {}],
    ['GET', '/one-click', undefined, {}],
    ['HEAD', '/one-click', undefined, {}],
    ['GET', '?List-Unsubscribe=One-Click&do=stop', undefined, {}],
    ['GET', '', undefined, purposes],
    ['POST', '', undefined, {}],
    ['POST', '', '', form],
    ['POST', '/one-click', undefined, {}],
    ['POST', '/one-click', 'do=stop', form],
    ['POST', '/one-click', 'List-Unsubscribe=No', form],
    ['POST', '/one-click', '{"List-Unsubscribe":"One-Click"}', { 'content-type': 'application/json' }],
    ['POST', '', 'do=everything', form],
    ['POST', '', 'shown=x&topic=y', form],
  ])('%s %s %j does not unsubscribe', async (method, path, body, headers) => {
    const who = await person()
    const answer = await visit(method, tokenFor(who, who.topic) + path, body, headers)
    expect(answer.status).toBe(200)
    expect(await state(who)).toEqual(IN)
    expect(await consents(who)).toEqual([])
  })

  test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'rejects %s with 405, without unsubscribing',
    async (method) => {
      const who = await person()
      expect((await visit(method, tokenFor(who), ONE_CLICK)).status).toBe(405)
      expect(await state(who)).toEqual(IN)
    },
  )
})

/** Removes the differences between two responses with the same meaning. */
const plain = ({ status, headers, text }: Answer) => {
  const shown = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
  return { status, headers: Object.fromEntries(shown), text }
}

describe('invalid unsubscribe requests', () => {
  test('an unsubscribe request gets the same 404 for every invalid token, and changes nothing', async () => {
    const who = await person()
    const token = tokenFor(who)
    const other = api.tokens.sign({
      teamId: '01900000-0000-7000-8000-000000000000',
      contactId: who.id,
      address: who.email,
      topicId: null,
      sourceId: null,
    })
    const bytes = Buffer.from(token, 'base64url')
    bytes[20]! ^= 1
    const wrong = [
      'x',
      token.slice(0, -2),
      token.slice(0, 40),
      `${token}AA`,
      bytes.toString('base64url'),
      other,
    ]
    const expected = plain(await visit('GET', 'A'.repeat(130)))
    expect(expected).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } })
    for (const one of wrong) {
      expect(plain(await visit('GET', one))).toEqual(expected)
      for (const body of [ONE_CLICK, 'do=stop', 'do=save&shown=x', undefined]) {
        expect(plain(await visit('POST', one, body))).toEqual(expected)
        expect(plain(await visit('POST', `${one}/one-click`, body))).toEqual(expected)
      }
    }
    expect(await state(who)).toEqual(IN)
    expect(expected.text).not.toContain('Acme')
  })

  test('an unsubscribe request gets an error for an overlong or malformed token', async () => {
    expect((await visit('POST', 'A'.repeat(5000), ONE_CLICK)).status).toBeGreaterThanOrEqual(404)
    expect((await visit('GET', '%00%ff', undefined, {})).status).toBeGreaterThanOrEqual(400)
  })

  test('an unsubscribe request gets a 413 if the body is too large', async () => {
    const who = await person()
    expect((await visit('POST', tokenFor(who), `${ONE_CLICK}&x=${'y'.repeat(20_000)}`)).status).toBe(413)
    expect(await state(who)).toEqual(IN)
  })
})

describe('the unsubscribe page', () => {
  test('the page loads no external resources, is not cached, and masks the address', async () => {
    const who = await person()
    const { status, headers, text } = await visit('GET', tokenFor(who), undefined, {})
    expect(status).toBe(200)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]+='; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    )
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-robots-tag')).toBe('noindex, nofollow')
    expect(headers.getSetCookie()).toEqual([])
    expect(text).toContain('p•••@customer.example')
    expect(text).not.toContain(who.email)
    expect(text).not.toContain('<script')
  })

  test('the page uses the language of the browser, or else the team’s default', async () => {
    const token = tokenFor(await person())
    const langOf = async (accepted: string) =>
      /<html lang="(\w+)">/.exec(
        (await visit('GET', token, undefined, { 'accept-language': accepted })).text,
      )?.[1]
    expect(await langOf('de-AT,de;q=0.9,en;q=0.8')).toBe('de')
    expect(await langOf('ja;q=0.9, fr;q=0.2, es;q=0.3')).toBe('es')
    expect(await langOf('pt, en;q=0')).toBe('en')
    expect(await langOf('*')).toBe('en')
    await api.call('PATCH', '/unsubscribe-page', { default_language: 'fr' })
    expect(await langOf('ja')).toBe('fr')
    await api.call('PATCH', '/unsubscribe-page', { default_language: 'en' })
  })

  test('the page unsubscribes from everything, and resubscribes', async () => {
    const who = await person()
    const token = tokenFor(who)
    const out = await visit('POST', token, 'do=stop', { ...form, 'user-agent': 'Browser/1' })
    expect(out.text).toContain('You’re unsubscribed')
    expect(out.text).toContain('Take me back')
    expect((await state(who))[0]).toBe(true)
    const back = await visit('POST', token, 'do=return')
    expect(back.text).toContain('You’re subscribed again.')
    expect((await state(who))[0]).toBe(false)
    expect(await consents(who)).toMatchObject([
      { subscription: 'opt_in', was: 'opt_out', origin: 'person', via: 'preferences' },
      {
        subscription: 'opt_out',
        origin: 'person',
        via: 'preferences',
        user_agent: 'Browser/1',
        wording_id: expect.stringMatching(/^en@\d+$/) as string,
      },
    ])
  })

  test('the page unsubscribes from the topic of the email, and its undo form resubscribes', async () => {
    const who = await person()
    const token = tokenFor(who, who.topic)
    const left = await visit('POST', token, 'do=leave')
    expect(left.text).toContain(`You’re unsubscribed from Topic ${made}.`)
    expect(await state(who)).toEqual([false, 'opt_out'])
    const fields = `do=save&shown=${who.topic}&topic=${who.topic}`
    for (const [, name, value] of left.text.matchAll(
      /<input type="hidden" name="(\w+)" value="([^"]+)"><input/g,
    ))
      expect(fields).toContain(`${name}=${value}`)
    await visit('POST', token, fields)
    expect(await state(who)).toEqual(IN)
  })

  test('the page shows public topics and subscribed private ones, and accepts choices only for those', async () => {
    const who = await person()
    const secret = await create('/topics', { name: 'Hidden list', default_subscription: 'opt_out' })
    const open = await create('/topics', {
      name: 'Open list',
      default_subscription: 'opt_out',
      visibility: 'public',
    })
    const token = tokenFor(who)
    const { text } = await visit('GET', token)
    expect(text).toContain('Open list')
    expect(text).toContain(`Topic ${made}`)
    expect(text).not.toContain('Hidden list')
    const asked = [secret, open].map((id) => `shown=${id}&topic=${id}`).join('&')
    await visit('POST', token, `do=save&${asked}`)
    const { data } = (await api.call('GET', `/contacts/${who.id}/topics`)).json as {
      data: { id: string; subscription: string; chosen_by: string | null }[]
    }
    const got = (id: string) => data.find((one) => one.id === id)
    expect(got(open)).toMatchObject({ subscription: 'opt_in', chosen_by: 'person' })
    expect(got(secret)).toMatchObject({ subscription: 'opt_out', chosen_by: null })
    expect(got(who.topic)).toMatchObject({ subscription: 'opt_in', chosen_by: null })
    expect(await consents(who)).toHaveLength(1)
  })

  test('the page works after the contact was deleted, and the choice applies when the address returns', async () => {
    const who = await person()
    const token = tokenFor(who, who.topic)
    await api.call('DELETE', `/contacts/${who.id}`)
    const page = await visit('GET', token)
    expect([page.status, page.text.includes('p•••@customer.example')]).toEqual([200, true])
    expect((await visit('POST', token, ONE_CLICK)).status).toBe(200)
    expect((await visit('POST', token, 'do=stop')).text).toContain('You’re unsubscribed')
    const again = { ...who, id: await create('/contacts', { email: who.email, unsubscribed: false }) }
    expect(await state(again)).toEqual([true, 'opt_out'])
    expect(await consents(again)).toMatchObject([
      { topic_id: null, subscription: 'opt_out', via: 'preferences' },
      { topic_id: who.topic, subscription: 'opt_out', via: 'one_click' },
    ])
    // The link applies to the contact that has the address now.
    await visit('POST', token, 'do=return')
    expect((await state(again))[0]).toBe(false)
  })

  test('the page opts out both the old and the new address of a contact', async () => {
    const who = await person()
    const token = tokenFor(who)
    await api.call('PATCH', `/contacts/${who.id}`, { email: `new${made}@customer.example` })
    await visit('POST', token, ONE_CLICK)
    expect((await state(who))[0]).toBe(true)
    const old = { ...who, id: await create('/contacts', { email: who.email }) }
    expect((await state(old))[0]).toBe(true)
    expect(await consents(who)).toHaveLength(1)
  })

  test('the page records an event for each change to a contact', async () => {
    const who = await person()
    await visit('POST', tokenFor(who, who.topic), 'do=leave')
    await visit('POST', tokenFor(who), ONE_CLICK)
    await visit('POST', tokenFor(who), ONE_CLICK)
    const all = { teamId: api.teamId, since: 0, until: api.clock.now() + 1, after: null, limit: 1000 }
    const events = await api.storage.listTeamEvents(all, api.clock.now())
    const about = events
      .filter(({ data }) => JSON.stringify(data).includes(who.email))
      .map(({ type }) => type)
    expect(about.toSorted()).toEqual(['contact.created', 'contact.topics.updated', 'contact.updated'])
  })

  test('the page escapes topic names and custom text', async () => {
    const evil = '<script>alert(1)</script>"\'&'
    const topic = await create('/topics', {
      name: evil.slice(0, 50),
      description: evil,
      default_subscription: 'opt_in',
    })
    const who = await person()
    await api.call('PATCH', '/unsubscribe-page', {
      words: { en: { title: evil, text: evil } },
      postal_address: evil,
    })
    const { text } = await visit('GET', tokenFor(who, topic))
    expect(text).not.toContain('<script>')
    expect(text).toContain('<h1>&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;</h1>')
    await api.call('PATCH', '/unsubscribe-page', { words: { en: null }, postal_address: null })
    expect((await visit('GET', tokenFor(who, topic))).text).toContain('&lt;script&gt;')
    expect((await visit('GET', tokenFor(who))).text).toContain('<h1>Email preferences</h1>')
  })
})

test('the page does not contain the token, and accepts a request with another Host header', async () => {
  const who = await person()
  const token = tokenFor(who)
  const { port } = new URL(api.url)
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const headers = { host: 'links.acme.example', ...form, 'content-length': ONE_CLICK.length }
  httpRequest({ port, host: '127.0.0.1', method: 'POST', path: `/u/${token}`, headers }, (response) =>
    resolve(response.resume().statusCode),
  )
    .on('error', reject)
    .end(ONE_CLICK)
  expect(await promise).toBe(200)
  expect((await state(who))[0]).toBe(true)
  expect((await visit('GET', token)).text).not.toContain(token)
})
