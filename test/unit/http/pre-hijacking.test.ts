import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ProviderSettings } from '../../../appliance/accounts/accounts.ts'
import { browse, startIdentityProvider, type IdentityProvider } from '../../world/identity-provider.ts'
import { codeAt, Device, openBrowser, type Browser } from './browser-of.ts'
import { ask, owner, startApi, type Api } from './harness.ts'

/**
 * An attacker creates an account for another person's address before that person does, and waits to share it
 * (Sudhodanan and Paverd, "Pre-hijacked accounts", USENIX Security 2022). The inviter can do so, because the page shows
 * the invitation link.
 */

const PUBLIC = 'https://mail.acme.example'
const ATTACKER = 'an attacker waits at the gate'
const VICTIM = 'a victim walks into the yard'

let idp: IdentityProvider
let api: Api
let boss: Browser
beforeAll(async () => {
  const ids = ['company', 'any', 'joining']
  idp = await startIdentityProvider(ids.map((id) => `${PUBLIC}/session/oidc/${id}/callback`))
  const row = (id: string, more: Partial<ProviderSettings> = {}): ProviderSettings => ({
    id,
    preset: 'oidc',
    label: `The ${id}`,
    issuer: idp.issuer,
    clientId: idp.clientId,
    clientSecret: idp.clientSecret,
    allowedDomains: [],
    join: null,
    linkByEmail: false,
    trustSecondFactor: false,
    ...more,
  })
  const join = { role: 'viewer', teamId: null } as const
  const providers = [row('company', { linkByEmail: true, join }), row('any'), row('joining', { join })]
  api = await startApi({ publicUrl: PUBLIC, providers })
  boss = openBrowser(api.url)
  expect((await boss.call('POST', '/session', owner)).status).toBe(200)
})
afterAll(async () => {
  await api.close()
  await idp.close()
})
// Resets the attempt counters.
afterEach(() => api.clock.advance(16 * 60_000))

let serial = 0
const somebody = () => `somebody-${++serial}@people.example`

/** Returns the newest mail to an address as text, without soft line breaks; undefined if there is none. */
async function mailTo(email: string): Promise<string | undefined> {
  const { items } = await api.storage.listEmails({ teamId: api.teamId, limit: 100 }, api.clock.now())
  const newest = items.find(({ to }) => to.includes(email))
  if (!newest) return undefined
  const message = await api.storage.getMessage({ emailId: newest.id }, api.clock.now())
  return Buffer.from(message!).toString().replaceAll('=\r\n', '')
}

/** Returns an invitation's two links: from the page, and from the email. */
async function invite(email: string): Promise<{ shown: string; mailed: string }> {
  const answer = await boss.call('POST', '/invitations', { email, role: 'developer' })
  expect(answer.status, answer.text).toBe(201)
  const { link, sent } = answer.json as { link: string; sent: boolean }
  expect(sent).toBe(true)
  const mailed = /\/dashboard\/invitation#([\w-]{43})/.exec((await mailTo(email))!)![1]!
  return { shown: link.split('#')[1]!, mailed }
}

/** Creates an account with a link. Returns a browser that is signed in. */
async function madeBy(token: string, password: string): Promise<Browser> {
  const browser = openBrowser(api.url)
  const answer = await browser.call('POST', '/invitations/accept', { token, password })
  expect(answer.status, answer.text).toBe(200)
  return browser
}

/** Returns from a provider. Resolves with the problem that the page is told about, or null after a sign-in. */
async function returned(browser: Browser, url: string): Promise<string | null> {
  const back = await browse(url, (at) => at.origin === PUBLIC)
  const answer = await browser.call('GET', back.pathname + back.search)
  expect(answer.status).toBe(302)
  return new URL(answer.headers.get('location')!, PUBLIC).searchParams.get('problem')
}

/** Signs in through a provider, in a new browser or the given one. */
async function byProvider(id: string, subject: string, email: string, browser = openBrowser(api.url)) {
  idp.visitor = { subject, does: 'agrees', claims: { email, email_verified: true } }
  const begun = await browser.call('POST', `/session/oidc/${id}`, {})
  expect(begun.status, begun.text).toBe(200)
  const problem = await returned(browser, (begun.json as { url: string }).url)
  return { problem, browser }
}

async function link(browser: Browser, id: string, subject: string): Promise<void> {
  idp.visitor = {
    subject,
    does: 'agrees',
    claims: { email: `${subject}@else.example`, email_verified: true },
  }
  const begun = await browser.call('POST', '/account/identities', { provider: id })
  expect(await returned(browser, (begun.json as { url: string }).url)).toBe(null)
}

/** Sets a new password with an emailed link. */
async function resetByMail(email: string, password: string): Promise<void> {
  expect((await ask(`${api.url}/session/reset`, 'POST', { email })).status).toBe(200)
  await expect.poll(async () => (await mailTo(email))?.includes('/dashboard/reset#')).toBe(true)
  const token = /\/dashboard\/reset#([\w-]{43})/.exec((await mailTo(email))!)![1]!
  const done = await ask(`${api.url}/session/reset/confirm`, 'POST', { token, password })
  expect(done.status, done.text).toBe(200)
}

const own = (browser: Browser) =>
  browser.call('GET', '/session').then(({ json }) => (json as { user?: { email: string } }).user?.email)

const json = <T>(answer: { json: unknown }) => answer.json as T

async function addPasskey(browser: Browser): Promise<Device> {
  const device = new Device(PUBLIC)
  const { options } = json<{ options: { challenge: string; user: { id: string } } }>(
    await browser.call('POST', '/account/passkeys/options'),
  )
  const body = { name: 'Laptop', response: device.create(options) }
  expect((await browser.call('POST', '/account/passkeys', body)).status).toBe(200)
  return device
}

/** Uses a passkey, without a password or after it. */
async function byPasskey(device: Device, browser = openBrowser(api.url)) {
  const { options } = json<{ options: { challenge: string } }>(
    await browser.call('POST', '/session/passkey/options'),
  )
  return browser.call('POST', '/session/passkey', { response: device.get(options) })
}

test('a provider sign-in is not matched by address to an account created with the link shown on the page', async () => {
  const email = somebody()
  await madeBy((await invite(email)).shown, ATTACKER)
  const { problem, browser } = await byProvider('company', 'victim-1', email)
  expect(problem).toBe('unproven')
  expect(await own(browser)).toBeUndefined()
  // Nothing was linked along the way, either.
  expect((await byProvider('any', 'victim-1', email)).problem).toBe('not_linked')
})

test('an emailed reset link gives the owner the account, and removes all access of its creator', async () => {
  const email = somebody()
  const attacker = await madeBy((await invite(email)).shown, ATTACKER)
  await link(attacker, 'any', 'attacker-2')
  expect((await byProvider('any', 'attacker-2', 'attacker-2@else.example')).problem).toBe(null)

  await resetByMail(email, VICTIM)
  expect(await own(attacker)).toBeUndefined()
  const wrong = await ask(`${api.url}/session`, 'POST', { email, password: ATTACKER })
  expect(wrong.status).toBe(403)
  expect((await byProvider('any', 'attacker-2', 'attacker-2@else.example')).problem).toBe('unknown')

  const { problem, browser } = await byProvider('company', 'victim-2', email)
  expect(problem).toBe(null)
  expect(await own(browser)).toBe(email)
  expect(await mailTo(email)).toContain('This email address had not been confirmed before')
  const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 5 }, api.clock.now())
  expect(items.find(({ action }) => action === 'account.password_reset')?.after).toEqual({
    address_proven: true,
    identities_unlinked: 1,
    passkeys_not_alone: 0,
  })
})

test('a passkey added before the address was confirmed works only as a second factor', async () => {
  const email = somebody()
  const attacker = await madeBy((await invite(email)).shown, ATTACKER)
  const device = await addPasskey(attacker)
  expect((await byPasskey(device)).status).toBe(200)

  await resetByMail(email, VICTIM)
  const alone = await byPasskey(device)
  expect([alone.status, json<{ message: string }>(alone).message]).toEqual([
    403,
    'The passkey “Laptop” was added before this email address was confirmed, so it cannot sign you in by itself. Sign in with your password, then remove the passkey and add it again.',
  ])
  // With both factors, both are required: access to the mailbox alone removes no factor.
  const victim = openBrowser(api.url)
  const first = await victim.call('POST', '/session', { email, password: VICTIM })
  expect([first.status, first.json]).toMatchObject([202, { methods: ['passkey', 'recovery_code'] }])
  expect((await byPasskey(device, victim)).status).toBe(200)
  // Added anew, it works like any other.
  const fresh = await addPasskey(victim)
  expect((await byPasskey(fresh)).status).toBe(200)
})

test('accepting the emailed invitation link confirms the address', async () => {
  const email = somebody()
  const person = await madeBy((await invite(email)).mailed, VICTIM)
  await link(person, 'any', 'person-4')
  const device = await addPasskey(person)
  await resetByMail(email, 'another walk into the yard')
  expect(
    (await byProvider('any', 'person-4', 'x@else.example')).browser.cookies.has('posthaste_sign_in'),
  ).toBe(true)
  expect((await byPasskey(device)).status).toBe(200)
  expect(await mailTo(email)).not.toContain('had not been confirmed before')

  const other = somebody()
  await madeBy((await invite(other)).mailed, VICTIM)
  expect((await byProvider('company', 'person-4b', other)).problem).toBe(null)
})

test('using one invitation link invalidates the other, and neither token is exposed', async () => {
  const email = somebody()
  const { shown, mailed } = await invite(email)
  expect(mailed).not.toBe(shown)
  await madeBy(mailed, VICTIM)
  const late = await ask(`${api.url}/invitations/accept`, 'POST', { token: shown, password: VICTIM })
  expect(late.status).toBe(403)
  for (const path of ['/audit', '/invitations', '/emails'])
    for (const token of [shown, mailed]) expect((await boss.call('GET', path)).text).not.toContain(token)
})

test("a reset link from the command line doesn't confirm the address", async () => {
  const email = somebody()
  const attacker = await madeBy((await invite(email)).shown, ATTACKER)
  await link(attacker, 'any', 'attacker-5')
  const { token } = (await api.accounts.beginReset({ email, byMail: false }))!
  expect((await ask(`${api.url}/session/reset/confirm`, 'POST', { token, password: VICTIM })).status).toBe(
    200,
  )
  expect((await byProvider('company', 'victim-5', email)).problem).toBe('unproven')
  expect((await byProvider('any', 'attacker-5', 'x@else.example')).problem).toBe(null)
})

test('joining through a provider confirms the address only if the provider is trusted for addresses', async () => {
  const [one, two, three] = [somebody(), somebody(), somebody()]
  expect((await byProvider('joining', 'passer-6', one)).problem).toBe(null)
  expect((await byProvider('company', 'victim-6', one)).problem).toBe('unproven')
  expect((await byProvider('company', 'colleague-6', two)).problem).toBe(null)
  expect((await byProvider('company', 'colleague-6-renewed', two)).problem).toBe(null)
  await invite(three)
  expect((await byProvider('company', 'guest-6', three)).problem).toBe(null)
  expect((await byProvider('company', 'guest-6-renewed', three)).problem).toBe(null)
})

test('the first owner can sign in through a provider by address', async () => {
  expect((await byProvider('company', 'boss-7', owner.email)).problem).toBe(null)
})

test('an address does not match one that differs only in Unicode case folding', async () => {
  const email = `kim-${somebody()}`
  await madeBy((await invite(email)).mailed, VICTIM)
  // The Kelvin sign becomes a k in lower case. It is another address.
  const kelvin = email.replace('k', '\u212a')
  expect((await byProvider('company', 'kelvin-9', kelvin)).problem).toBe('unverified')
  expect((await byProvider('company', 'kim-9', email.toUpperCase())).problem).toBe(null)
})

test('a second factor is still required after the address was confirmed', async () => {
  const email = somebody()
  const person = await madeBy((await invite(email)).shown, VICTIM)
  const { secret } = json<{ secret: string }>(await person.call('POST', '/account/totp'))
  const code = codeAt(secret, api.clock.now())
  expect((await person.call('POST', '/account/totp/confirm', { code })).status).toBe(200)
  await resetByMail(email, 'another walk into the yard')
  const browser = openBrowser(api.url)
  const password = 'another walk into the yard'
  expect((await browser.call('POST', '/session', { email, password })).status).toBe(202)
})
