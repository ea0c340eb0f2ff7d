import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hashToken } from '../../../appliance/accounts/accounts.ts'
import { openBrowser } from './browser-of.ts'
import { ask, errorText, owner, startApi, type Answer, type Api } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
// Resets the attempt counters.
afterEach(() => api.clock.advance(16 * 60_000))

const signIn = (password: string, userAgent = 'curl/8.1', email = owner.email) =>
  ask(`${api.url}/session`, 'POST', { email, password }, { 'user-agent': userAgent })
const cookieOf = (answer: Answer): string =>
  answer.headers.getSetCookie().find((one) => one.startsWith('posthaste_session='))!
const tokenOf = (cookie: string): string => /^posthaste_session=([\w-]+)/.exec(cookie)![1]!

/** Returns a signed-in browser. */
async function browser(password = owner.password, userAgent?: string) {
  const { cookies, call } = openBrowser(api.url)
  cookies.set('posthaste_session', tokenOf(cookieOf(await signIn(password, userAgent))))
  return {
    get token() {
      return cookies.get('posthaste_session')!
    },
    call,
  }
}

interface Sessions {
  data: { id: string; browser: string | null; current: boolean; method: string; ip: string }[]
}

/** Returns the newest notices in the spool. */
async function notices(): Promise<{ id: string; subject: string; to: string[]; message: string }[]> {
  const { items } = await api.storage.listEmails({ teamId: api.teamId, limit: 100 }, api.clock.now())
  return Promise.all(
    items.map(async ({ id, subject, to }) => {
      const message = await api.storage.getMessage({ emailId: id }, api.clock.now())
      return { id, subject, to, message: Buffer.from(message!).toString() }
    }),
  )
}

/** Polls for something that is created after the response. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 500; tries++) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it did not come in ten seconds')
}

/** Requests a link and reads it from the email. */
async function linkFor(email: string): Promise<string> {
  const before = (await notices()).length
  expect((await ask(`${api.url}/session/reset`, 'POST', { email })).text).toBe(
    '{"object":"password_reset","minutes":30}',
  )
  return until(async () => {
    const all = await notices()
    if (all.length === before) return undefined
    const text = all[0]!.message.replaceAll('=\r\n', '')
    return /\/dashboard\/reset#([\w-]{43})/.exec(text)![1]
  })
}

describe('changing the password', () => {
  test('changing the password ends all other sessions, notifies the owner by email, and takes effect at once', async () => {
    const [here, there] = [await browser(), await browser()]
    const next = 'another quiet harbour'
    const answer = await here.call('POST', '/account/password', { current: owner.password, new: next })
    expect(answer.text).toBe('{"object":"password","changed":true}')
    expect((await here.call('GET', '/session')).status).toBe(200)
    expect((await there.call('GET', '/session')).status).toBe(401)
    expect((await signIn(owner.password)).status).toBe(403)
    expect((await notices())[0]).toMatchObject({
      subject: 'Your Posthaste password was changed',
      to: [owner.email],
    })
    await here.call('POST', '/account/password', { current: next, new: owner.password })
  })

  test('changing the password rejects a wrong current password, and a new one that is easy to guess', async () => {
    const here = await browser()
    const change = (current: string, password: string) =>
      here.call('POST', '/account/password', { current, new: password })
    expect((await change('wrong', 'another quiet harbour')).text).toBe(
      errorText(403, 'validation_error', 'Invalid `current` field: wrong password.'),
    )
    const weak = await change(owner.password, 'Sunshine2024')
    expect(weak.status).toBe(422)
    expect(weak.text).toContain('Invalid `new` field: a password that is harder to guess')
    expect((await change(owner.password, 'acme-mail-owner')).text).toContain(
      'Invalid `new` field: a password that is not just your email address, or the name of the team or server.',
    )
    expect((await signIn(owner.password)).status).toBe(200)
  })

  test('changing the password is limited to five attempts a minute', async () => {
    const here = await browser()
    const guess = () => here.call('POST', '/account/password', { current: 'guess', new: 'whatever it is' })
    for (let i = 0; i < 5; i++) expect((await guess()).status).toBe(403)
    expect((await guess()).status).toBe(429)
  })

  test('changing the password is rejected with an API key, and from another site', async () => {
    const body = { current: owner.password, new: 'another quiet harbour' }
    expect((await api.call('POST', '/account/password', body)).status).toBe(401)
    const { token } = await browser()
    const cookie = `posthaste_session=${token}`
    const elsewhere = { cookie, 'x-requested-with': 'dashboard', 'sec-fetch-site': 'cross-site' }
    expect((await ask(`${api.url}/account/password`, 'POST', body, elsewhere)).status).toBe(403)
  })
})

describe('resetting a forgotten password', () => {
  test('a reset link works once, ends all sessions, and is audited', async () => {
    const there = await browser()
    const token = await linkFor(` ${owner.email.toUpperCase()}`)
    const confirm = (password: string) => ask(`${api.url}/session/reset/confirm`, 'POST', { token, password })
    expect((await confirm('short')).text).toContain('Invalid `password` field: at least 10 characters.')
    const done = await confirm('a third quiet harbour')
    expect(done.text).toBe(`{"object":"password_reset","email":"${owner.email}"}`)
    expect((await there.call('GET', '/session')).status).toBe(401)
    expect((await signIn('a third quiet harbour')).status).toBe(200)
    expect((await confirm('a fourth quiet harbour')).text).toBe(
      errorText(
        403,
        'validation_error',
        'This link is incomplete, expired or already used. Request a new one with "Forgot your password?" on the sign-in page.',
      ),
    )
    const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 10 }, api.clock.now())
    expect(items.filter(({ action }) => action === 'account.password_reset')).toMatchObject([
      { actor: owner.email, actorKind: 'user', ip: '127.0.0.1' },
    ])
    await api.accounts.setPassword({
      userId: (await api.storage.findUser({ email: owner.email }, 0))!.id,
      password: owner.password,
    })
  })

  test('only one of two concurrent uses of a reset link succeeds', async () => {
    const token = await linkFor(owner.email)
    const answers = await Promise.all(
      ['the first quiet harbour', 'the second quiet harbour'].map((password) =>
        ask(`${api.url}/session/reset/confirm`, 'POST', { token, password }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403])
    const { id } = (await api.storage.findUser({ email: owner.email }, 0))!
    await api.accounts.setPassword({ userId: id, password: owner.password })
  })

  test('rejects a reset link after half an hour, or once the password was changed', async () => {
    const token = await linkFor(owner.email)
    const late = await linkFor(owner.email)
    const confirm = (link: string) =>
      ask(`${api.url}/session/reset/confirm`, 'POST', { token: link, password: 'a quiet harbour indeed' })
    const here = await browser()
    await here.call('POST', '/account/password', { current: owner.password, new: owner.password })
    expect((await confirm(token)).status).toBe(403)
    expect((await confirm(late)).status).toBe(403)
    const third = await linkFor(owner.email)
    await api.clock.advance(31 * 60_000)
    expect((await confirm(third)).status).toBe(403)
  })

  test('a reset request for an unknown address gets the same response, and sends no email', async () => {
    const before = (await notices()).length
    const answer = await ask(`${api.url}/session/reset`, 'POST', { email: 'nobody@acme.example' })
    expect(answer.text).toBe('{"object":"password_reset","minutes":30}')
    await linkFor(owner.email)
    expect((await notices()).length).toBe(before + 1)
  })

  test('reset requests are limited to three in 15 minutes per address, with or without an account', async () => {
    const before = (await notices()).length
    for (const email of [owner.email, 'nobody@acme.example']) {
      const asked = () => ask(`${api.url}/session/reset`, 'POST', { email })
      for (let i = 0; i < 3; i++) expect((await asked()).status).toBe(200)
      expect((await asked()).status).toBe(429)
    }
    await until(async () => ((await notices()).length === before + 3 ? true : undefined))
  })

  test('rejects a reset request from other sites, and from HTML forms', async () => {
    const at = `${api.url}/session/reset`
    const foreign = errorText(403, 'validation_error', 'This request came from another site and was refused.')
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[])
      expect((await ask(at, 'POST', { email: owner.email }, headers)).text).toBe(foreign)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await ask(at, 'POST', 'email=owner@acme.example', form)).status).toBe(415)
    const plain = { 'content-type': 'text/plain' }
    expect((await ask(at, 'POST', '{"email":"owner@acme.example"}', plain)).status).toBe(415)
  })

  test('hides the email with a reset link from the team, and stores only a hash of the token', async () => {
    const token = await linkFor(owner.email)
    const { id, message } = (await notices())[0]!
    expect(message).toContain('Auto-Submitted: auto-generated')
    expect(message).not.toContain('/t/')
    expect((await api.call('GET', `/emails/${id}`)).json).toMatchObject({ html: null, text: null })
    expect((await api.call('GET', `/emails/${id}/source`)).text).toBe(
      errorText(
        403,
        'validation_error',
        'The server sent this email to one person, so its content is hidden from everyone else.',
      ),
    )
    for (const path of [`/emails/${id}`, `/emails/${id}/timeline`, '/logs', '/emails'])
      expect((await api.call('GET', path)).text).not.toContain(token)
    const hash = { tokenHash: hashToken(token), kind: 'reset' } as const
    expect(await api.storage.peekTicket(hash, api.clock.now())).toBeDefined()
    expect(await api.storage.peekTicket({ ...hash, tokenHash: token }, api.clock.now())).toBeUndefined()
  })
})

describe('the sessions of an account', () => {
  test('sessions are listed with browser and method, with the current one marked', async () => {
    const { call } = await browser(
      owner.password,
      'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    )
    await call('DELETE', '/account/sessions')
    await browser(owner.password, 'Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0')
    const { data } = (await call('GET', '/account/sessions')).json as Sessions
    expect(data.map((one) => [one.browser, one.current, one.method, one.ip]).sort()).toEqual([
      ['Edge on Windows', false, 'password', '127.0.0.1'],
      ['Firefox on Linux', true, 'password', '127.0.0.1'],
    ])
    expect(Object.keys(data[0]!)).not.toContain('token_hash')
  })

  test('sessions can be ended one by one or all at once, but only by their owner', async () => {
    const [here, there, third] = [await browser(), await browser(), await browser()]
    await here.call('DELETE', '/account/sessions')
    expect((await there.call('GET', '/session')).status).toBe(401)
    expect((await third.call('GET', '/session')).status).toBe(401)
    const fourth = await browser()
    const { data } = (await here.call('GET', '/account/sessions')).json as Sessions
    const other = data.find(({ current }) => !current)!
    expect((await here.call('DELETE', `/account/sessions/${other.id}`)).text).toBe(
      `{"object":"account_session","id":"${other.id}","deleted":true}`,
    )
    expect((await fourth.call('GET', '/session')).status).toBe(401)
    expect((await here.call('DELETE', `/account/sessions/${other.id}`)).status).toBe(404)
    const stranger = { userId: '0193aaaa-0000-7000-8000-000000000000', id: data[0]!.id }
    expect(await api.accounts.endSession(stranger)).toBe(false)
  })
})
