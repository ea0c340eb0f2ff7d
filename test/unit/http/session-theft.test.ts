import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { codeAt, Device, openBrowser } from './browser-of.ts'
import { ask, owner, startApi, type Answer, type Api } from './harness.ts'

/** Tests what someone can do by copying, planting or guessing what a browser stores. */

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
// Resets the sign-in counters.
afterEach(() => api.clock.advance(61_000))

const own = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
const signIn = (headers: Record<string, string> = {}) => ask(`${api.url}/session`, 'POST', owner, headers)
const cookieOf = (answer: Answer, name: string): string =>
  answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? ''
const valueOf = (cookie: string): string => /=([^;]+)/.exec(cookie)![1]!
const as = (token: string, method = 'GET', path = '/session') =>
  ask(`${api.url}${path}`, method, undefined, { ...own, cookie: `posthaste_session=${token}` })

test('a copy of the database contains no usable session, link or password', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  const link = (await api.accounts.beginReset({ email: owner.email, byMail: true }))!.token
  expect((await as(token)).status).toBe(200)
  let seen = 0
  for (const file of await readdir(api.dataDir, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const bytes = await readFile(join(file.parentPath, file.name))
    seen += bytes.length
    for (const secret of [token, link, owner.password]) expect(bytes.includes(secret)).toBe(false)
    for (const secret of [token, link]) expect(bytes.includes(Buffer.from(secret, 'base64url'))).toBe(false)
  }
  expect(seen).toBeGreaterThan(10_000)
})

test('a session cookie planted before the sign-in is invalid after it', async () => {
  const planted = 'A'.repeat(43)
  const answer = await signIn({ cookie: `posthaste_session=${planted}` })
  expect(valueOf(cookieOf(answer, 'posthaste_session'))).not.toBe(planted)
  expect((await as(planted)).status).toBe(401)
})

test('signing in replaces a planted session, and the two sessions stay separate', async () => {
  const theirs = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  const mine = valueOf(cookieOf(await signIn({ cookie: `posthaste_session=${theirs}` }), 'posthaste_session'))
  expect(mine).not.toBe(theirs)
  await as(mine, 'DELETE')
  expect((await as(mine)).status).toBe(401)
  expect((await as(theirs)).status).toBe(200)
})

test('a copied cookie is invalid after its owner signs out', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  await as(token, 'DELETE')
  expect((await as(token)).status).toBe(401)
})

describe('a copied cookie', () => {
  const { password: current } = owner
  type Call = ReturnType<typeof openBrowser>['call']
  type Listed = { data: { id: string; current: boolean }[] }
  const mine = async (call: Call) =>
    ((await call('GET', '/account/sessions')).json as Listed).data.find((one) => one.current)!.id
  const origin = () => api.url.replace('127.0.0.1', 'localhost')

  const addTotp = async (call: Call) => {
    const { secret } = (await call('POST', '/account/totp')).json as { secret: string }
    return call('POST', '/account/totp/confirm', { code: codeAt(secret, api.clock.now()) })
  }
  const addPasskey = async (call: Call) => {
    const { json } = await call('POST', '/account/passkeys/options')
    const { options } = json as { options: { challenge: string; user: { id: string } } }
    const response = new Device(origin()).create(options)
    return call('POST', '/account/passkeys', { name: 'Laptop', response })
  }

  test.each<[when: string, act: (call: Call) => Promise<Answer>]>([
    [
      'when the password is changed',
      (call) => call('POST', '/account/password', { current, new: 'a lantern over the pier' }),
    ],
    ['when all other sessions are signed out', (call) => call('DELETE', '/account/sessions')],
    [
      'when the owner confirms the password again',
      (call) => call('POST', '/account/proof', { password: current }),
    ],
    ['when an authenticator app is added', addTotp],
    ['when a passkey is added', addPasskey],
  ])('a copied cookie becomes invalid, and the owner’s session continues, %s', async (_when, act) => {
    const { cookies, call } = openBrowser(origin())
    await call('POST', '/session', owner)
    const [copied, id] = [cookies.get('posthaste_session')!, await mine(call)]
    expect((await as(copied)).status).toBe(200)
    expect((await act(call)).status).toBe(200)
    expect((await as(copied)).status).toBe(401)
    expect(await mine(call)).toBe(id)
    await api.accounts.factors.reset({ email: owner.email })
    const { user } = (await api.accounts.findOwner({ email: owner.email }))!
    await api.accounts.setPassword({ userId: user.id, password: current })
  })
})

test('a copied cookie expires 14 days after the sign-in, even if used', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  await api.clock.advance(14 * 24 * 3_600_000 - 1000)
  expect((await as(token)).status).toBe(200)
  await api.clock.advance(2000)
  expect((await as(token)).status).toBe(401)
})

test('every cookie is HttpOnly and SameSite=Strict, and the device cookie gives no access', async () => {
  const answer = await signIn()
  const cookies = answer.headers.getSetCookie()
  expect(cookies.length).toBeGreaterThan(1)
  for (const cookie of cookies) {
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
    expect(cookie).not.toMatch(/domain=/i)
  }
  const device = valueOf(cookieOf(answer, 'posthaste_device'))
  expect(cookieOf(answer, 'posthaste_device')).toContain('Path=/session;')
  expect((await as(device)).status).toBe(401)
  const cookie = `posthaste_device=${device}`
  expect((await ask(`${api.url}/session`, 'GET', undefined, { ...own, cookie })).status).toBe(401)
})

describe('over HTTPS', () => {
  const https = { ...own, 'x-forwarded-proto': 'https' }
  let proxied: Api
  beforeAll(async () => {
    proxied = await startApi({ trustProxy: ['127.0.0.0/8'] })
  })
  afterAll(() => proxied.close())
  const enter = () => ask(`${proxied.url}/session`, 'POST', owner, https)
  const look = (cookie: string) => ask(`${proxied.url}/session`, 'GET', undefined, { ...https, cookie })

  test('over HTTPS, every cookie has the __Host- prefix and is Secure', async () => {
    const cookies = (await enter()).headers.getSetCookie()
    expect(cookies.length).toBeGreaterThan(1)
    for (const cookie of cookies)
      expect(cookie).toMatch(
        /^__Host-posthaste_\w+=[^;]*; (Max-Age=0; )?Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
      )
  })

  test('over HTTPS, a session cookie is accepted only with the prefix, and is cleared with it', async () => {
    const token = valueOf(cookieOf(await enter(), '__Host-posthaste_session'))
    const cookie = `__Host-posthaste_session=${token}`
    expect((await look(cookie)).status).toBe(200)
    expect((await look(`posthaste_session=${token}`)).status).toBe(401)
    const out = await ask(`${proxied.url}/session`, 'DELETE', undefined, { ...https, cookie })
    expect(cookieOf(out, '__Host-posthaste_session')).toMatch(
      /=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970.*Secure/,
    )
    expect((await look(cookie)).status).toBe(401)
  })

  test('over HTTPS, a session cookie planted without the prefix is ignored', async () => {
    const theirs = valueOf(cookieOf(await enter(), '__Host-posthaste_session'))
    const mine = cookieOf(await enter(), '__Host-posthaste_session').split(';', 1)[0]!
    expect((await look(`posthaste_session=${theirs}; ${mine}`)).status).toBe(200)
    expect((await look(`posthaste_session=${theirs}`)).status).toBe(401)
  })

  test('over HTTPS, the second step requires a cookie with the prefix', async () => {
    const api = proxied
    const cookie = cookieOf(await enter(), '__Host-posthaste_session').split(';', 1)[0]!
    const call = (path: string, body?: unknown) =>
      ask(`${api.url}${path}`, 'POST', body, { ...https, cookie })
    const { secret } = (await call('/account/totp')).json as { secret: string }
    await call('/account/totp/confirm', { code: codeAt(secret, api.clock.now()) })
    await api.clock.advance(61_000)
    const step = cookieOf(await enter(), '__Host-posthaste_sign_in').split(';', 1)[0]!
    const answers = (name: string) =>
      ask(`${api.url}/session/step`, 'GET', undefined, { ...https, cookie: name })
    expect((await answers(step)).status).toBe(200)
    expect((await answers(step.replace('__Host-', ''))).status).toBe(401)
    const code = codeAt(secret, api.clock.now())
    const done = await ask(`${api.url}/session/totp`, 'POST', { code }, { ...https, cookie: step })
    expect(cookieOf(done, '__Host-posthaste_sign_in')).toMatch(
      /=; Max-Age=0; Path=\/; Expires=Thu, 01 Jan 1970/,
    )
    expect((await look(cookieOf(done, '__Host-posthaste_session').split(';', 1)[0]!)).status).toBe(200)
  })
})

test('signing in rejects content types that an HTML form can send', async () => {
  const text = JSON.stringify(owner)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect((await ask(`${api.url}/session`, 'POST', text, { 'content-type': type })).status).toBe(415)
})
