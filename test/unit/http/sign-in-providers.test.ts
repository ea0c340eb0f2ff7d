import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { browse, type IdentityProvider } from '../../world/identity-provider.ts'
import { codeAt } from './browser-of.ts'
import { ask, owner, type Answer, type Api } from './harness.ts'
import { PUBLIC, startWithProviders } from './with-providers.ts'

const page = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }

let idp: IdentityProvider
let api: Api

beforeAll(async () => void ({ idp, api } = await startWithProviders()))
afterAll(() => Promise.all([api.close(), idp.close()]))
// Resets the counters of unknown addresses.
afterEach(async () => {
  idp.broken = null
  idp.instead = null
  await api.clock.advance(61_000)
})

const cookieOf = (answer: Answer, name: string) =>
  answer.headers
    .getSetCookie()
    .find((line) => line.startsWith(`${name}=`))
    ?.split(';', 1)[0]

/** Sets the provider's next user. */
function visitor(
  subject: string,
  claims: Record<string, unknown> = {},
  does: 'agrees' | 'denies' = 'agrees',
) {
  idp.visitor = {
    subject,
    does,
    claims: { email: `${subject}@acme.example`, email_verified: true, ...claims },
  }
}

async function depart(id: string, next?: string): Promise<{ url: string; cookie: string }> {
  const body = next === undefined ? {} : { next }
  const answer = await ask(`${api.url}/session/oidc/${id}`, 'POST', body, page)
  expect(answer.status, answer.text).toBe(200)
  return { ...(answer.json as { url: string }), cookie: cookieOf(answer, 'posthaste_provider')! }
}

const atOurs = (url: URL) => url.origin === PUBLIC
const comeBack = (url: URL, cookie: string) =>
  ask(api.url + url.pathname + url.search, 'GET', undefined, { cookie, 'sec-fetch-site': 'cross-site' })

/** Returns where the provider redirects the browser, with the browser's cookies. */
async function onTheWayBack(id: string, next?: string): Promise<{ back: URL; cookie: string }> {
  const { url, cookie } = await depart(id, next)
  return { back: await browse(url, atOurs), cookie }
}

/** Signs in completely. Returns the redirect into the dashboard. */
async function signIn(id: string, next?: string): Promise<Answer> {
  const { back, cookie } = await onTheWayBack(id, next)
  return comeBack(back, cookie)
}

const problemOf = (answer: Answer) => {
  expect(answer.status).toBe(302)
  expect(cookieOf(answer, 'posthaste_session')).toBeUndefined()
  return new URL(answer.headers.get('location')!, PUBLIC).searchParams.get('problem')
}

/** Returns who is signed in after that response. */
async function whoami(answer: Answer) {
  expect(answer.headers.get('location')).not.toContain('problem')
  const cookie = cookieOf(answer, 'posthaste_session') ?? ''
  return (await ask(`${api.url}/session`, 'GET', undefined, { cookie })).json as {
    user: { email: string }
    role: string
  }
}

async function signedInOwner(): Promise<Record<string, string>> {
  const answer = await ask(`${api.url}/session`, 'POST', owner, page)
  return { ...page, cookie: cookieOf(answer, 'posthaste_session')! }
}

async function link(headers: Record<string, string>, provider = 'corp'): Promise<Answer> {
  const begun = await ask(`${api.url}/account/identities`, 'POST', { provider }, headers)
  expect(begun.status, begun.text).toBe(200)
  const { url } = begun.json as { url: string }
  return comeBack(await browse(url, atOurs), cookieOf(begun, 'posthaste_provider')!)
}

describe('the sign-in page', () => {
  test('the sign-in page gets the list of providers without their secrets', async () => {
    const { text, json } = await ask(`${api.url}/session/providers`, 'GET')
    expect((json as { data: unknown[] }).data[0]).toEqual({
      object: 'sign_in_provider',
      id: 'corp',
      label: 'The corp',
      preset: 'oidc',
    })
    expect(text).not.toContain(idp.clientSecret)
  })

  test('redirects to the provider with state, nonce and code challenge, and sets an HttpOnly cookie', async () => {
    const answer = await ask(`${api.url}/session/oidc/corp`, 'POST', {}, page)
    const url = new URL((answer.json as { url: string }).url)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'posthaste',
      scope: 'openid email',
      redirect_uri: `${PUBLIC}/session/oidc/corp/callback`,
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.any(String) as string,
    })
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^posthaste_provider=[\w-]{43}; Path=\/session\/oidc; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
      ),
    ])
  })

  test('rejects a provider sign-in started from another site', async () => {
    const foreign = { 'sec-fetch-site': 'cross-site' }
    expect((await ask(`${api.url}/session/oidc/corp`, 'POST', {}, foreign)).status).toBe(403)
  })

  test('returns 409 with the public address if the page was opened at another address', async () => {
    const headers = { ...page, origin: api.url }
    const answer = await ask(`${api.url}/session/oidc/corp`, 'POST', {}, headers)
    expect(answer.status).toBe(409)
    expect(answer.text).toContain(`Open the dashboard at that address`)
  })

  test('provider sign-ins are limited to 20 attempts', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 21; n++)
      statuses.push((await ask(`${api.url}/session/oidc/nobody`, 'POST', {}, page)).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([404, 429])
  })
})

describe('a person with a linked account', () => {
  test('a user with a linked account can sign in, even if the address at the provider changes', async () => {
    visitor('linked')
    const headers = await signedInOwner()
    const linked = await link(headers)
    expect(linked.headers.get('location')).toBe('/dashboard/account?linked=corp')
    visitor('linked', { email: 'renamed@elsewhere.example' })
    const answer = await signIn('corp', '/domains?x=1')
    expect(answer.headers.get('location')).toBe('/dashboard/domains?x=1')
    expect((await whoami(answer)).user.email).toBe(owner.email)
    const { json } = await ask(`${api.url}/account/identities`, 'GET', undefined, headers)
    expect(json).toMatchObject({
      data: [{ object: 'identity', provider: 'corp', label: 'The corp', email: 'renamed@elsewhere.example' }],
    })
  })

  test('the audit log contains the linking of an account, and the session its sign-in method', async () => {
    const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 100 }, api.clock.now())
    const act = items.find(({ action }) => action === 'identity.link')
    expect(act).toMatchObject({
      actor: owner.email,
      after: { provider: 'corp', email: 'linked@acme.example' },
    })
    const headers = await signedInOwner()
    const { json } = await ask(`${api.url}/account/sessions`, 'GET', undefined, headers)
    expect((json as { data: { method: string }[] }).data.map(({ method }) => method)).toContain('oidc:corp')
  })

  test('a user with a linked account must complete the second factor unless the provider is trusted for it', async () => {
    visitor('linked')
    const before = await signedInOwner()
    const { secret } = (await ask(`${api.url}/account/totp`, 'POST', {}, before)).json as { secret: string }
    const confirm = { code: codeAt(secret, api.clock.now()) }
    const confirmed = await ask(`${api.url}/account/totp/confirm`, 'POST', confirm, before)
    before.cookie = cookieOf(confirmed, 'posthaste_session')!
    await api.clock.advance(61_000)
    const asked = await signIn('corp', '/domains')
    expect(asked.headers.get('location')).toBe('/dashboard/sign-in?step=1&next=%2Fdomains')
    expect(cookieOf(asked, 'posthaste_session')).toBeUndefined()
    const waiting = { ...page, cookie: cookieOf(asked, 'posthaste_sign_in')! }
    expect((await ask(`${api.url}/session/step`, 'GET', undefined, waiting)).json).toMatchObject({
      next: 'second_factor',
    })
    const code = codeAt(secret, api.clock.now())
    const shown = await ask(`${api.url}/session/totp`, 'POST', { code }, waiting)
    const byFactor = { ...page, cookie: cookieOf(shown, 'posthaste_session')! }
    const trusted = await signIn('trusted')
    expect((await whoami(trusted)).user.email).toBe(owner.email)
    const byProvider = { cookie: cookieOf(trusted, 'posthaste_session')! }
    const open = async (headers: Record<string, string>) =>
      (await ask(`${api.url}/emails`, 'GET', undefined, headers)).status
    const opens = async () => [await open(before), await open(byFactor), await open(byProvider)]
    await api.storage.setMfaRequired({ id: api.teamId, required: true }, api.clock.now())
    expect(await opens()).toEqual([200, 200, 200])
    expect((await ask(`${api.url}/account/totp`, 'DELETE', undefined, byFactor)).status).toBe(200)
    expect(await opens()).toEqual([403, 403, 200])
    await api.storage.setMfaRequired({ id: api.teamId, required: false }, api.clock.now())
  })

  test('a user cannot link another user’s identity', async () => {
    visitor('newcomer-first')
    await whoami(await signIn('joining'))
    const answer = await link(await signedInOwner())
    expect(answer.headers.get('location')).toBe('/dashboard/account?problem=taken&provider=corp')
  })

  test('a user cannot link an identity if the session has ended', async () => {
    visitor('thief')
    const headers = await signedInOwner()
    const begun = await ask(`${api.url}/account/identities`, 'POST', { provider: 'corp' }, headers)
    const url = await browse((begun.json as { url: string }).url, atOurs)
    await ask(`${api.url}/session`, 'DELETE', undefined, headers)
    expect(problemOf(await comeBack(url, cookieOf(begun, 'posthaste_provider')!))).toBe('signed_out')
    expect(problemOf(await signIn('corp'))).toBe('unknown')
  })

  test('linking and unlinking require the password or a factor again after 11 minutes', async () => {
    const headers = await signedInOwner()
    await api.clock.advance(11 * 60_000)
    for (const [method, path, body] of [
      ['POST', '/account/identities', { provider: 'corp' }],
      ['DELETE', `/account/identities/${newId(0)}`, undefined],
    ] as const) {
      const answer = await ask(api.url + path, method, body, headers)
      expect(answer.status).toBe(403)
      expect((answer.json as { message: string }).message).toMatch(/password/)
    }
  })

  test('a user can unlink an account, which ends the sessions started with it', async () => {
    visitor('linked')
    const entered = { cookie: cookieOf(await signIn('corp'), 'posthaste_session')! }
    const headers = await signedInOwner()
    const list = await ask(`${api.url}/account/identities`, 'GET', undefined, headers)
    const { id } = (list.json as { data: [{ id: string }] }).data[0]
    const path = `${api.url}/account/identities/${id}`
    const unlinked = await ask(path, 'DELETE', undefined, headers)
    expect(unlinked.json).toEqual({ object: 'identity', id, deleted: true })
    expect((await ask(`${api.url}/session`, 'GET', undefined, headers)).status).toBe(401)
    headers.cookie = cookieOf(unlinked, 'posthaste_session')!
    expect((await ask(`${api.url}/session`, 'GET', undefined, entered)).status).toBe(401)
    expect((await ask(`${api.url}/session`, 'GET', undefined, headers)).status).toBe(200)
    expect((await ask(path, 'DELETE', undefined, headers)).status).toBe(404)
    expect(problemOf(await signIn('corp'))).toBe('unknown')
  })
})

describe('a person without a linked account', () => {
  test('a user without a linked account is rejected, and no account is created', async () => {
    visitor('stranger')
    expect(problemOf(await signIn('corp'))).toBe('unknown')
    const found = await api.storage.findUser({ email: 'stranger@acme.example' }, api.clock.now())
    expect(found).toBeUndefined()
  })

  test('a user without a linked account is not signed in to an account with the same verified address', async () => {
    visitor('impostor', { email: owner.email })
    expect(problemOf(await signIn('corp'))).toBe('not_linked')
    expect(problemOf(await signIn('joining'))).toBe('not_linked')
  })

  test('an invited user joins the inviting team in the given role, without a password', async () => {
    const now = api.clock.now()
    await api.storage.invite(
      {
        most: 10,
        invitation: {
          id: newId(now),
          teamId: api.teamId,
          email: 'Guest@acme.example',
          role: 'developer',
          invitedBy: null,
          tokenHash: 'x',
          mailedHash: null,
          createdAt: now,
          expiresAt: now + 600_000,
        },
      },
      now,
    )
    visitor('guest')
    expect(await whoami(await signIn('corp'))).toMatchObject({
      user: { email: 'guest@acme.example' },
      role: 'developer',
    })
    expect(await api.storage.openInvitations({ email: 'guest@acme.example' }, now)).toEqual([])
    expect((await api.storage.findUser({ email: 'guest@acme.example' }, now))?.passwordHash).toBeNull()
    for (const password of ['', 'a guess of ten characters']) {
      const body = { email: 'guest@acme.example', password }
      expect((await ask(`${api.url}/session`, 'POST', body, page)).status).toBe(403)
    }
  })

  test('a new user joins if the configuration allows it, and cannot unlink the only sign-in method', async () => {
    visitor('joiner')
    const answer = await signIn('joining')
    expect(await whoami(answer)).toMatchObject({ user: { email: 'joiner@acme.example' }, role: 'viewer' })
    const headers = { ...page, cookie: cookieOf(answer, 'posthaste_session')! }
    const list = await ask(`${api.url}/account/identities`, 'GET', undefined, headers)
    const { id } = (list.json as { data: [{ id: string }] }).data[0]
    const refused = await ask(`${api.url}/account/identities/${id}`, 'DELETE', undefined, headers)
    expect(refused.status).toBe(409)
    expect(refused.text).toContain('your only way to sign in')
    // Again, and it is still the same person.
    expect((await whoami(await signIn('joining'))).user.email).toBe('joiner@acme.example')
  })

  test('two concurrent sign-ins of a new user create one account', async () => {
    visitor('twin')
    const [one, two] = [await depart('joining'), await depart('joining')]
    const [first, second] = [await browse(one.url, atOurs), await browse(two.url, atOurs)]
    const answers = await Promise.all([comeBack(first, one.cookie), comeBack(second, two.cookie)])
    const entered = answers.filter((answer) => cookieOf(answer, 'posthaste_session') !== undefined)
    expect(entered.length).toBeGreaterThanOrEqual(1)
    const members = await api.storage.listMembers({ teamId: api.teamId }, api.clock.now())
    expect(members.filter(({ email }) => email === 'twin@acme.example')).toHaveLength(1)
  })

  test('a user from a domain that is not allowed is rejected', async () => {
    visitor('outsider', { email: 'outsider@other.example' })
    expect(problemOf(await signIn('strict'))).toBe('domain')
  })

  test('a user is signed in by address if the operator allows it, and is linked from then on', async () => {
    visitor('by-email', { email: owner.email.toUpperCase() })
    expect((await whoami(await signIn('linking'))).user.email).toBe(owner.email)
    const links = async () => {
      const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 100 }, api.clock.now())
      return items.filter(({ action, after }) => {
        return action === 'identity.link' && (after as { provider: string }).provider === 'linking'
      })
    }
    const link = { actor: owner.email, ip: '127.0.0.1', after: { provider: 'linking', email: owner.email } }
    expect(await links()).toMatchObject([link])
    expect((await whoami(await signIn('corp'))).user.email).toBe(owner.email)
    expect((await whoami(await signIn('linking'))).user.email).toBe(owner.email)
    expect(await links()).toHaveLength(1)
  })
})

describe('responses of providers', () => {
  test.each([
    ['email_verified false', { email_verified: false }],
    ['email_verified as text', { email_verified: 'true' }],
    ['no email_verified', { email_verified: undefined }],
    ['no address', { email: undefined }],
  ])('claims with %s are rejected as unverified', async (_, claims) => {
    visitor('unverified', claims)
    expect(problemOf(await signIn('joining'))).toBe('unverified')
  })

  test('a denied sign-in returns to the sign-in page with the problem', async () => {
    visitor('linked', {}, 'denies')
    const answer = await signIn('corp', '/logs')
    expect(answer.headers.get('location')).toBe(
      '/dashboard/sign-in?problem=denied&provider=corp&next=%2Flogs',
    )
  })

  test.each([
    ['is down', 'down', 'The down is not responding.'],
    ['has the wrong issuer', 'wrong', 'is misconfigured'],
  ])('a provider that %s causes a 502 with an explanation', async (_, id, sentence) => {
    const answer = await ask(`${api.url}/session/oidc/${id}`, 'POST', {}, page)
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining(sentence)])
  })

  test('a provider that fails during the callback is reported as unreachable', async () => {
    visitor('linked')
    const { back, cookie } = await onTheWayBack('corp')
    idp.broken = 503
    expect(problemOf(await comeBack(back, cookie))).toBe('unreachable')
  })

  test('a wrong client secret is reported as misconfigured', async () => {
    expect(problemOf(await signIn('secret'))).toBe('misconfigured')
  })
})

describe('the callback', () => {
  test('the callback is rejected in another browser', async () => {
    visitor('linked')
    const { url } = await depart('joining')
    const back = await browse(url, atOurs)
    expect(problemOf(await comeBack(back, ''))).toBe('expired')
    const other = await depart('joining')
    expect(problemOf(await comeBack(back, other.cookie))).toBe('expired')
  })

  test('the callback is rejected with another state, and remains valid with the right one', async () => {
    visitor('joiner')
    const { back, cookie } = await onTheWayBack('joining')
    const forged = new URL(back)
    forged.searchParams.set('state', 'another')
    expect(problemOf(await comeBack(forged, cookie))).toBe('expired')
    expect((await whoami(await comeBack(back, cookie))).user.email).toBe('joiner@acme.example')
  })

  test('the callback can be used once', async () => {
    visitor('joiner')
    const { back, cookie } = await onTheWayBack('joining')
    await whoami(await comeBack(back, cookie))
    expect(problemOf(await comeBack(back, cookie))).toBe('expired')
  })

  test('the callback is rejected after ten minutes', async () => {
    visitor('joiner')
    const { back, cookie } = await onTheWayBack('joining')
    await api.clock.advance(10 * 60_000 + 1)
    expect(problemOf(await comeBack(back, cookie))).toBe('expired')
  })

  test('the callback is rejected at the URL of another provider', async () => {
    visitor('joiner')
    const { back, cookie } = await onTheWayBack('joining')
    back.pathname = '/session/oidc/corp/callback'
    expect(problemOf(await comeBack(back, cookie))).toBe('expired')
  })

  test('the callback is rejected with a code from another flow', async () => {
    visitor('joiner')
    const mine = await depart('joining')
    const back = await browse(mine.url, atOurs)
    // A code from another flow, used in this one: nonce and challenge don't match.
    const theirs = await browse((await depart('joining')).url, atOurs)
    back.searchParams.set('code', theirs.searchParams.get('code')!)
    expect(problemOf(await comeBack(back, mine.cookie))).toBe('invalid')
  })

  test.each([
    ['https://evil.example/', '/dashboard/'],
    ['//evil.example', '/dashboard/'],
    ['/\\evil.example', '/dashboard/'],
    ['/../session', '/dashboard/'],
    ['/%2e%2e/session', '/dashboard/'],
    ['/emails?to=x', '/dashboard/emails?to=x'],
  ])('the callback with next=%s redirects only to the dashboard', async (next, location) => {
    visitor('joiner')
    const answer = await signIn('joining', next)
    expect(new URL(answer.headers.get('location')!, PUBLIC).origin).toBe(PUBLIC)
    expect(answer.headers.get('location')).toBe(location)
  })
})
