import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorText, owner, startApi, type Answer, type Api } from './harness.ts'
import { codeAt, Device, openBrowser, type Browser } from './browser-of.ts'

let api: Api
let origin: string
beforeAll(async () => {
  api = await startApi()
  // Passkeys are bound to a name, and loopback has one.
  origin = api.url.replace('127.0.0.1', 'localhost')
})
afterAll(() => api.close())

const MINUTE = 60_000
const over = errorText(
  401,
  'validation_error',
  'Sign-in expired, or you entered too many wrong codes. Start again with your password.',
)
const wrong = errorText(
  403,
  'validation_error',
  "Incorrect or already used code. Wait for a new one, and check your phone's clock.",
)
const refused = errorText(
  403,
  'validation_error',
  'This passkey was not accepted. Try again, or sign in another way.',
)

/** Returns a browser after the first step. Advances time to reset the attempt counters. */
async function firstStep(later = 16 * MINUTE): Promise<Browser> {
  await api.clock.advance(later)
  const browser = openBrowser(origin)
  expect((await browser.call('POST', '/session', owner)).status).toBeLessThan(300)
  return browser
}
const json = <T>(answer: Answer) => answer.json as T
const signedIn = async (browser: Browser) => (await browser.call('GET', '/session')).status === 200
const now = () => api.clock.now()

/** Returns a signed-in owner who has only an authenticator app. */
async function withTotp(): Promise<{ browser: Browser; secret: string; codes: string[] }> {
  await api.accounts.factors.reset({ email: owner.email })
  const browser = await firstStep()
  const { secret } = json<{ secret: string }>(await browser.call('POST', '/account/totp'))
  const done = await browser.call('POST', '/account/totp/confirm', { code: codeAt(secret, now()) })
  expect(done.status).toBe(200)
  return { browser, secret, codes: json<{ recovery_codes: string[] }>(done).recovery_codes }
}

/** Returns a signed-in owner who has only a passkey. */
async function withPasskey(device = new Device(origin)): Promise<{ browser: Browser; device: Device }> {
  await api.accounts.factors.reset({ email: owner.email })
  const browser = await firstStep()
  expect((await addPasskey(browser, device)).status).toBe(200)
  return { browser, device }
}
async function addPasskey(browser: Browser, device: Device): Promise<Answer> {
  const { options } = json<{ options: { challenge: string; user: { id: string } } }>(
    await browser.call('POST', '/account/passkeys/options'),
  )
  return browser.call('POST', '/account/passkeys', { name: 'Laptop', response: device.create(options) })
}
const optionsOf = async (browser: Browser, path = '/session/passkey/options') =>
  json<{ options: { challenge: string; allowCredentials: { id: string }[] } }>(
    await browser.call('POST', path),
  ).options

describe('an authenticator app', () => {
  test('an authenticator app is required only after its first code is confirmed', async () => {
    await api.accounts.factors.reset({ email: owner.email })
    const browser = await firstStep()
    await browser.call('POST', '/account/totp')
    expect((await browser.call('POST', '/account/totp/confirm', { code: '000000' })).text).toBe(wrong)
    expect(await signedIn(await firstStep())).toBe(true)
  })

  test('an authenticator app is required after the password, and there is no session before that', async () => {
    const { secret } = await withTotp()
    const browser = openBrowser(origin)
    const answer = await browser.call('POST', '/session', owner)
    expect([answer.status, answer.json]).toEqual([
      202,
      { object: 'sign_in', next: 'second_factor', methods: ['totp', 'recovery_code'] },
    ])
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^posthaste_sign_in=[\w-]{43}; Path=\/session; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
      ),
    ])
    expect(await signedIn(browser)).toBe(false)
    expect((await browser.call('GET', '/session/step')).json).toEqual(answer.json)
    await api.clock.advance(MINUTE)
    const done = await browser.call('POST', '/session/totp', { code: codeAt(secret, now()) })
    expect(done.json).toMatchObject({ object: 'session', user: { has_second_factor: true } })
    expect([browser.cookies.has('posthaste_sign_in'), await signedIn(browser)]).toEqual([false, true])
  })

  test('an authenticator code is accepted once', async () => {
    const { secret } = await withTotp()
    const [first, second] = [await firstStep(), await firstStep(0)]
    const code = codeAt(secret, now())
    expect((await first.call('POST', '/session/totp', { code })).status).toBe(200)
    expect((await second.call('POST', '/session/totp', { code })).text).toBe(wrong)
    // Nor an older code, although its 30 seconds are close enough.
    expect((await second.call('POST', '/session/totp', { code: codeAt(secret, now() - 30_000) })).text).toBe(
      wrong,
    )
  })

  test('only one of two concurrent sign-ins with the same code succeeds', async () => {
    const { secret } = await withTotp()
    const browsers = [await firstStep(), await firstStep(0)]
    const code = codeAt(secret, now())
    const answers = await Promise.all(browsers.map((one) => one.call('POST', '/session/totp', { code })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403])
  })

  test('each first step creates only one session, even with concurrent codes', async () => {
    const { secret } = await withTotp()
    const browser = await firstStep()
    const twin = openBrowser(origin)
    twin.cookies.set('posthaste_sign_in', browser.cookies.get('posthaste_sign_in')!)
    const codes = [codeAt(secret, now()), codeAt(secret, now() + 30_000)]
    const answers = await Promise.all([
      browser.call('POST', '/session/totp', { code: codes[0] }),
      twin.call('POST', '/session/totp', { code: codes[1] }),
    ])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await twin.call('GET', '/session/step')).text).toBe(over)
  })

  test('after five wrong codes, sign-in starts again, after a wait', async () => {
    const { secret } = await withTotp()
    const browser = await firstStep()
    const begun = now()
    for (let n = 0; n < 5; n++)
      expect((await browser.call('POST', '/session/totp', { code: '000000' })).text).toBe(wrong)
    const right = { code: codeAt(secret, now()) }
    expect((await browser.call('POST', '/session/totp', right)).text).toBe(over)
    const again = openBrowser(origin)
    await again.call('POST', '/session', owner)
    const waits = await again.call('POST', '/session/totp', right)
    expect(waits.status).toBe(429)
    // 15 minutes since one of the attempts, minus the time that has passed.
    const left = Number(waits.headers.get('retry-after'))
    expect(left).toBeLessThanOrEqual(900)
    expect(left).toBeGreaterThanOrEqual(Math.floor(900 - (now() - begun) / 1000))
    await api.clock.advance(15 * MINUTE)
    expect((await again.call('POST', '/session/totp', { code: codeAt(secret, now()) })).text).toBe(over)
  })

  test('rejects a code ten minutes after the password', async () => {
    const { secret } = await withTotp()
    const browser = await firstStep()
    await api.clock.advance(10 * MINUTE)
    expect((await browser.call('POST', '/session/totp', { code: codeAt(secret, now()) })).text).toBe(over)
  })

  test('rejects a code without a valid first step', async () => {
    const browser = openBrowser(origin)
    expect((await browser.call('POST', '/session/totp', { code: '000000' })).text).toBe(over)
    browser.cookies.set('posthaste_sign_in', 'x'.repeat(43))
    expect((await browser.call('POST', '/session/totp', { code: '000000' })).text).toBe(over)
  })

  test('an authenticator app cannot be set up twice', async () => {
    const { browser } = await withTotp()
    expect((await browser.call('POST', '/account/totp')).status).toBe(409)
    expect((await browser.call('POST', '/account/totp/confirm', { code: '000000' })).status).toBe(409)
  })
})

describe('recovery codes', () => {
  test('a recovery code works once, and is invalidated by new codes', async () => {
    const { codes } = await withTotp()
    expect(codes).toHaveLength(10)
    const use = async (code: string) =>
      (await (await firstStep()).call('POST', '/session/recovery-code', { code })).status
    expect(await use(codes[0]!.toUpperCase())).toBe(200)
    expect(await use(codes[0]!)).toBe(403)
    const browser = await firstStep()
    await browser.call('POST', '/session/recovery-code', { code: codes[1] })
    expect((await browser.call('GET', '/account/factors')).json).toMatchObject({ recovery_codes: 8 })
    const fresh = json<{ recovery_codes: string[] }>(await browser.call('POST', '/account/recovery-codes'))
    expect(await use(codes[2]!)).toBe(403)
    expect(await use(fresh.recovery_codes[0]!)).toBe(200)
  })

  test('recovery codes are deleted with the last factor', async () => {
    const { browser } = await withTotp()
    expect((await browser.call('DELETE', '/account/totp')).status).toBe(200)
    expect((await browser.call('GET', '/account/factors')).json).toMatchObject({
      totp: null,
      recovery_codes: 0,
    })
    expect((await browser.call('POST', '/account/recovery-codes')).status).toBe(409)
  })
})

describe('a passkey', () => {
  test('a passkey works as the second step', async () => {
    const { device } = await withPasskey()
    const browser = await firstStep()
    const options = await optionsOf(browser)
    expect(options.allowCredentials.map(({ id }) => id)).toEqual([device.id.toString('base64url')])
    const done = await browser.call('POST', '/session/passkey', { response: device.get(options) })
    expect([done.status, await signedIn(browser)]).toEqual([200, true])
  })

  test('a passkey signs in without a password only if the device verifies its owner', async () => {
    const { device } = await withPasskey()
    const enter = async () => {
      const browser = openBrowser(origin)
      return browser.call('POST', '/session/passkey', { response: device.get(await optionsOf(browser)) })
    }
    expect((await enter()).json).toMatchObject({ user: { email: owner.email } })
    device.verifies = false
    expect((await enter()).text).toBe(refused)
  })

  test('a passkey is accepted once per challenge, and only for a sign-in challenge', async () => {
    const { browser, device } = await withPasskey()
    const stranger = openBrowser(origin)
    const response = device.get(await optionsOf(stranger))
    expect((await stranger.call('POST', '/session/passkey', { response })).status).toBe(200)
    expect((await openBrowser(origin).call('POST', '/session/passkey', { response })).text).toBe(refused)
    const forProof = device.get(await optionsOf(browser, '/account/proof/options'))
    expect((await openBrowser(origin).call('POST', '/session/passkey', { response: forProof })).text).toBe(
      refused,
    )
  })

  test('a passkey is rejected if its signature counter goes backward', async () => {
    const { device } = await withPasskey()
    device.counter = 0
    const browser = openBrowser(origin)
    const answer = await browser.call('POST', '/session/passkey', {
      response: device.get(await optionsOf(browser)),
    })
    expect(answer.text).toContain('The signature counter of the passkey “Laptop” went backward')
    const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 1 }, now())
    expect(items).toMatchObject([
      {
        actor: owner.email,
        ip: '127.0.0.1',
        action: 'session.create',
        target: 'session',
        after: { refused: 'wrong_passkey' },
        details: { step: 'passkey' },
      },
    ])
  })

  test('a passkey is rejected from an unknown device, or with another user handle', async () => {
    const { device } = await withPasskey()
    const thief = new Device(origin)
    const browser = openBrowser(origin)
    expect(
      (await browser.call('POST', '/session/passkey', { response: thief.get(await optionsOf(browser)) }))
        .text,
    ).toBe(refused)
    device.userHandle = Buffer.from('somebody else').toString('base64url')
    expect(
      (await browser.call('POST', '/session/passkey', { response: device.get(await optionsOf(browser)) }))
        .text,
    ).toBe(refused)
  })

  test('a passkey is rejected from another origin, and the error shows where it works', async () => {
    const { device } = await withPasskey()
    const phished = Object.assign(device, { origin: 'https://posthaste.example' })
    const browser = openBrowser(origin)
    const answer = await browser.call('POST', '/session/passkey', {
      response: phished.get(await optionsOf(browser)),
    })
    expect(answer.text).toContain('Passkeys for this server work only at')
  })

  test('a passkey cannot be added twice, and requires a hostname', async () => {
    const { browser, device } = await withPasskey()
    expect((await addPasskey(browser, device)).status).toBe(409)
    const byAddress = openBrowser(api.url)
    expect((await byAddress.call('POST', '/session/passkey/options')).text).toContain(
      'Passkeys are bound to a hostname, and 127.0.0.1 is an IP address',
    )
  })

  test('a passkey can be renamed and deleted, but only by its owner', async () => {
    const { browser } = await withPasskey()
    const { passkeys } = json<{ passkeys: { id: string }[] }>(await browser.call('GET', '/account/factors'))
    const path = `/account/passkeys/${passkeys[0]!.id}`
    expect((await browser.call('PATCH', path, { name: ' Phone ' })).json).toMatchObject({
      object: 'passkey',
      name: 'Phone',
      host: 'localhost',
      last_used_at: null,
    })
    const foreign = `/account/passkeys/${api.teamId}`
    expect((await browser.call('DELETE', foreign)).status).toBe(404)
    expect((await browser.call('DELETE', path)).status).toBe(200)
    expect(await signedIn(await firstStep())).toBe(true)
  })
})

describe('changing factors', () => {
  test('changing factors requires the password or a factor again after ten minutes', async () => {
    const { browser, secret } = await withTotp()
    await api.clock.advance(11 * MINUTE)
    const proof = errorText(
      403,
      'validation_error',
      'Confirm your identity: enter your password or complete the second step again.',
    )
    for (const [method, path] of [
      ['DELETE', '/account/totp'],
      ['POST', '/account/totp'],
      ['POST', '/account/recovery-codes'],
      ['POST', '/account/passkeys/options'],
    ] as const)
      expect((await browser.call(method, path)).text).toBe(proof)
    expect((await browser.call('POST', '/account/proof', { password: 'wrong' })).text).toBe(
      errorText(403, 'validation_error', 'Invalid `password` field: wrong password.'),
    )
    expect((await browser.call('POST', '/account/proof', {})).status).toBe(422)
    expect((await browser.call('POST', '/account/proof', { code: codeAt(secret, now()) })).status).toBe(200)
    expect((await browser.call('DELETE', '/account/totp')).status).toBe(200)
  })

  test('requires the factor, not the password, in a session that started before the factor existed', async () => {
    await api.accounts.factors.reset({ email: owner.email })
    const [before, browser] = [await firstStep(), await firstStep(0)]
    const { secret } = json<{ secret: string }>(await browser.call('POST', '/account/totp'))
    await browser.call('POST', '/account/totp/confirm', { code: codeAt(secret, now()) })
    const ways = [
      ['DELETE', '/account/totp'],
      ['POST', '/account/recovery-codes'],
      ['POST', '/account/passkeys/options'],
      ['POST', '/account/identities'],
    ] as const
    const everyWay = async () => {
      const answers: number[] = []
      for (const [method, path] of ways)
        answers.push((await before.call(method, path, { provider: 'none' })).status)
      return answers
    }
    expect(await everyWay()).toEqual([403, 403, 403, 403])
    expect((await before.call('GET', '/account/factors')).json).toMatchObject({
      proved: false,
      factor_needed: true,
    })
    const { password } = owner
    expect((await before.call('POST', '/account/proof', { password })).text).toBe(
      errorText(
        403,
        'validation_error',
        'This session started without your second step, so a password is not enough. Complete the second step to continue.',
      ),
    )
    expect(await everyWay()).toEqual([403, 403, 403, 403])
    await api.clock.advance(MINUTE)
    const code = codeAt(secret, now())
    expect((await before.call('POST', '/account/proof', { code })).status).toBe(200)
    expect((await before.call('GET', '/account/factors')).json).toMatchObject({
      proved: true,
      factor_needed: false,
    })
    expect((await before.call('DELETE', '/account/totp')).status).toBe(200)
  })

  test('changing factors is limited to five wrong passwords', async () => {
    const { browser } = await withTotp()
    await api.clock.advance(MINUTE)
    const tries = []
    for (let n = 0; n < 6; n++)
      tries.push((await browser.call('POST', '/account/proof', { password: 'x' })).status)
    expect(tries).toEqual([403, 403, 403, 403, 403, 429])
  })

  test('changing factors is rejected with an API key', async () => {
    expect((await api.call('GET', '/account/factors')).status).toBe(401)
    expect((await api.call('DELETE', '/account/totp')).status).toBe(401)
  })
})

test('a team that requires second factors denies access until a second factor is set up', async () => {
  await api.accounts.factors.reset({ email: owner.email })
  const browser = await firstStep()
  const required = errorText(
    403,
    'validation_error',
    'This team requires two-step sign-in. Set up or complete your second step to continue.',
  )
  const strong = await withTotp()
  await api.storage.setMfaRequired({ id: api.teamId, required: true }, now())
  expect((await strong.browser.call('GET', '/emails')).status).toBe(200)
  expect((await strong.browser.call('DELETE', '/account/totp')).status).toBe(200)
  expect((await strong.browser.call('GET', '/emails')).text).toBe(required)
  const weak = await firstStep()
  expect((await weak.call('GET', '/emails')).text).toBe(required)
  expect((await weak.call('GET', '/session')).json).toMatchObject({
    user: { has_second_factor: false, must_enrol: true },
  })
  const { secret } = json<{ secret: string }>(await weak.call('POST', '/account/totp'))
  expect((await weak.call('POST', '/account/totp/confirm', { code: codeAt(secret, now()) })).status).toBe(200)
  expect((await weak.call('GET', '/emails')).status).toBe(200)
  expect((await weak.call('GET', '/session')).json).toMatchObject({ user: { must_enrol: false } })
  expect(await signedIn(browser)).toBe(false)
  await api.storage.setMfaRequired({ id: api.teamId, required: false }, now())
})
