import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, errorText, hello, owner, startApi, type Answer, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
// Resets the sign-in counters.
afterEach(() => api.clock.advance(61_000))

const signIn = (body: unknown = owner, headers: Record<string, string> = {}) =>
  ask(`${api.url}/session`, 'POST', body, headers)
const cookieOf = (answer: Answer) =>
  answer.headers.getSetCookie().find((one) => one.startsWith('posthaste_session=')) ?? ''
/** Returns the headers of a signed-in browser. */
const browser = async (more: Record<string, string> = {}) => ({
  cookie: cookieOf(await signIn()).split(';', 1)[0]!,
  ...more,
})
const own = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
const foreign = errorText(403, 'validation_error', 'This request came from another site and was refused.')

describe('signing in', () => {
  test('signing in sets an HttpOnly, SameSite=Strict cookie', async () => {
    const answer = await signIn()
    expect(answer.status).toBe(200)
    expect(answer.json).toMatchObject({
      object: 'session',
      user: { email: owner.email },
      team: { id: api.teamId, name: 'Acme' },
      node: { hostname: 'mail.acme.example', version: '0.0.0', sandbox: false, smtp_port: 2525 },
    })
    expect(cookieOf(answer)).toMatch(
      /^posthaste_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    )
    expect(answer.text).not.toContain('argon2')
  })

  test('a wrong password and an unknown address get the same error', async () => {
    const wrong = errorText(403, 'validation_error', 'Wrong email address or password.')
    expect((await signIn({ ...owner, password: 'wrong' })).text).toBe(wrong)
    expect((await signIn({ ...owner, email: 'nobody@acme.example' })).text).toBe(wrong)
  })

  test.each([
    [{ email: 5, password: 'x' }, 422],
    [{ email: 'x' }, 422],
    ['{', 400],
    [{ ...owner, password: 'x'.repeat(20_000) }, 413],
  ])('rejects the sign-in request %j', async (body, status) => {
    expect((await signIn(body)).status).toBe(status)
  })

  test('signing in is rejected from another site', async () => {
    expect((await signIn(owner, { 'sec-fetch-site': 'cross-site' })).text).toBe(foreign)
    expect((await signIn(owner, { origin: 'https://evil.example' })).text).toBe(foreign)
    expect((await signIn(owner, { origin: 'null' })).text).toBe(foreign)
    expect((await signIn(owner, { origin: api.url })).status).toBe(200)
  })

  test('signing in is limited to ten attempts a minute for one address', async () => {
    const at = api.clock.now()
    const guess = async () => {
      await api.clock.set(at)
      return signIn({ email: 'Victim@acme.example ', password: 'guess' })
    }
    for (let i = 0; i < 10; i++) expect((await guess()).status).toBe(403)
    const answer = await guess()
    expect(answer.status).toBe(429)
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(50)
    expect(answer.text).toBe(
      errorText(429, 'rate_limit_exceeded', `Too many attempts. Try again in ${seconds} seconds.`),
    )
    await api.clock.advance(61_000)
    expect((await signIn({ email: 'victim@acme.example', password: 'guess' })).status).toBe(403)
  })

  test('signing in is limited to ten attempts a minute from one network', async () => {
    const at = api.clock.now()
    for (let i = 0; i < 10; i++) await signIn({ email: `a${i}@acme.example`, password: 'guess' })
    await api.clock.set(at)
    expect((await signIn()).status).toBe(429)
  })
})

describe('a session', () => {
  test('a session shows who is signed in, and can be ended', async () => {
    const headers = await browser(own)
    expect((await ask(`${api.url}/session`, 'GET', undefined, headers)).json).toMatchObject({
      user: { email: owner.email },
    })
    const out = await ask(`${api.url}/session`, 'DELETE', undefined, headers)
    expect(out.json).toEqual({ object: 'session', deleted: true })
    expect(cookieOf(out)).toMatch(/^posthaste_session=; .*Expires=Thu, 01 Jan 1970/)
    const sentence = errorText(
      401,
      'missing_api_key',
      'Sign in, or send an API key in the authorization header.',
    )
    expect((await ask(`${api.url}/session`, 'GET', undefined, headers)).text).toBe(sentence)
    expect((await ask(`${api.url}/emails`, 'GET', undefined, headers)).text).toBe(sentence)
  })

  test('a session can read and send like a full access key', async () => {
    const headers = await browser(own)
    expect((await ask(`${api.url}/domains`, 'GET', undefined, headers)).status).toBe(200)
    const { json } = await ask(`${api.url}/emails`, 'POST', hello, headers)
    const email = await api.storage.getEmail({ teamId: api.teamId, id: (json as { id: string }).id }, 0)
    expect(email).toMatchObject({ via: 'dashboard', apiKeyId: null })
  })

  test.each<[Record<string, string>, string]>([
    [{}, 'no header'],
    [{ 'x-requested-with': 'dashboard' }, 'no origin from the browser'],
    [{ 'sec-fetch-site': 'same-origin' }, 'no dashboard header'],
    [{ ...own, 'sec-fetch-site': 'cross-site' }, 'another site'],
    [{ ...own, 'sec-fetch-site': 'same-site' }, 'another host under the same domain'],
    [{ 'x-requested-with': 'dashboard', origin: 'https://evil.example' }, 'another origin'],
  ])("can't change anything with the headers %j: %s", async (more, _reason) => {
    const headers = await browser(more)
    const before = await api.count()
    expect((await ask(`${api.url}/emails`, 'POST', hello, headers)).text).toBe(foreign)
    expect((await ask(`${api.url}/domains/${api.domain.id}/verify`, 'POST', {}, headers)).text).toBe(foreign)
    expect((await ask(`${api.url}/session`, 'DELETE', undefined, headers)).text).toBe(foreign)
    expect(await api.count()).toBe(before)
    expect((await ask(`${api.url}/emails`, 'GET', undefined, headers)).status).toBe(200)
  })

  test('a session is accepted if the browser sends only the server’s own Origin', async () => {
    const headers = await browser({ 'x-requested-with': 'dashboard', origin: api.url })
    expect((await ask(`${api.url}/emails`, 'POST', hello, headers)).status).toBe(200)
  })

  test('a session is not used if the request has an invalid key', async () => {
    const headers = await browser({ ...own, authorization: 'Bearer re_wrong' })
    expect((await ask(`${api.url}/emails`, 'GET', undefined, headers)).status).toBe(403)
  })

  test('a session is rejected with an invalid cookie', async () => {
    for (const cookie of [
      'posthaste_session=x',
      `posthaste_session=${'x'.repeat(4000)}`,
      'posthaste_session=%zz',
    ])
      expect((await ask(`${api.url}/session`, 'GET', undefined, { cookie })).status).toBe(401)
  })

  test('a session cannot be read with an API key', async () => {
    expect((await api.call('GET', '/session')).status).toBe(401)
  })
})

test('behind a trusted proxy, the cookie is Secure and attempts are counted per client address', async () => {
  const proxied = await startApi({ trustProxy: ['127.0.0.0/8'] })
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.7' }
  const answer = await ask(`${proxied.url}/session`, 'POST', owner, headers)
  expect(answer.headers.getSetCookie().join('\n')).toMatch(/^__Host-posthaste_session=.*; Secure/m)
  const at = proxied.clock.now()
  for (let i = 0; i < 11; i++)
    await ask(`${proxied.url}/session`, 'POST', { email: `a${i}@x.example`, password: 'x' }, headers)
  await proxied.clock.set(at)
  expect((await ask(`${proxied.url}/session`, 'POST', owner, headers)).status).toBe(429)
  const other = { ...headers, 'x-forwarded-for': '198.51.100.8' }
  expect((await ask(`${proxied.url}/session`, 'POST', owner, other)).status).toBe(200)
  await proxied.close()

  const spoofed = await ask(`${api.url}/session`, 'POST', owner, headers)
  expect(cookieOf(spoofed)).not.toMatch(/Secure/)
})
