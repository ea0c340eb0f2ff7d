import { TOTP, Secret } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startIdentityProvider, type IdentityProvider } from '../world/identity-provider.ts'
import { holdData, launch, openPage } from './browser.ts'
import { addMember, givePassword, type Person } from './people.ts'
import { sound } from './sound.ts'
import { hashToken } from '../../appliance/accounts/accounts.ts'

/** Tests sign-in through a real OpenID Connect provider, in a real browser: out, back, linked, unlinked. */

let idp: IdentityProvider
let posthaste: TestAppliance
let browser: Browser

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  const back: string[] = []
  idp = await startIdentityProvider(back)
  const { issuer, clientId: client_id, clientSecret: client_secret } = idp
  const corp = { id: 'corp', label: 'Corporation', issuer, client_id, client_secret }
  const company = { ...corp, id: 'company', label: 'Company', link_by_email: true }
  const providers = [corp, company]
  posthaste = await startAppliance({ config: { sign_in: { providers } } })
  for (const { id } of providers) back.push(`${posthaste.url}/session/oidc/${id}/callback`)
  idp.visitor = {
    subject: 'ada',
    does: 'page',
    claims: { email: 'ada@corp.example', email_verified: true },
  }
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
  await idp?.close()
})

async function bySignInPage(page: Page, path: string): Promise<void> {
  await page.goto(at(path))
  await page.getByRole('button', { name: 'Sign in with Corporation' }).click()
  await page.getByRole('button', { name: 'Continue as ada' }).click()
}

test('an unknown account gets an explanation, and its owner can link it and then sign in with it', async () => {
  const stranger = await openPage(browser)
  await bySignInPage(stranger.page, '/sign-in')
  await stranger.page.getByText('No account here matches your Corporation account.').waitFor()
  await sound(stranger.page, 'sign-in-provider-problem')
  expect(stranger.errors).toEqual([])

  const { page, context, errors } = await openPage(browser)
  await page.goto(at('/account'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('link', { name: 'Link Corporation' }).click()
  await expect.poll(() => page.url()).toBe(at('/account?link=corp'))
  await sound(page, 'account-link')
  await page.goBack()
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await page.goForward()
  await page.getByRole('button', { name: 'Go to Corporation' }).click()
  await page.getByRole('button', { name: 'Continue as ada' }).click()
  await page.getByText('ada@corp.example · linked').waitFor()
  await expect.poll(() => page.url()).toBe(at('/account?linked=corp'))
  await sound(page, 'account-identities')

  const { page: other, errors: more } = await openPage(browser)
  await bySignInPage(other, '/domains?from=a-link')
  await other.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
  await expect.poll(() => other.url()).toBe(at('/domains?from=a-link'))
  const cookies = await other.context().cookies()
  expect(cookies.find(({ name }) => name === 'posthaste_session')).toMatchObject({
    httpOnly: true,
    sameSite: 'Strict',
  })
  expect(cookies.map(({ name }) => name)).not.toContain('posthaste_provider')

  const leave = await holdData(other)
  await page.getByRole('link', { name: /^Unlink Corporation/ }).click()
  await page.getByRole('dialog', { name: 'Unlink Corporation?' }).waitFor()
  await page.goBack()
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await page.goForward()
  await page.getByRole('dialog').getByRole('button', { name: 'Unlink account' }).click()
  await page.getByText('No linked accounts yet').waitFor()
  await other.getByRole('link', { name: 'Emails', exact: true }).click()
  leave()
  await other.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  expect([...errors, ...more]).toEqual([])
  await context.close()
})

test('a user with a second factor is asked for it after the provider, and then sees the linked page', async () => {
  const fay: Person = { email: 'fay@people.example', password: 'fay walks along the quiet quay' }
  await addMember(posthaste, 'viewer', fay)
  idp.visitor = {
    subject: 'fay',
    does: 'page',
    claims: { email: 'fay@corp.example', email_verified: true },
  }
  const { page, context, errors } = await openPage(browser)
  await page.goto(at('/account'))
  await givePassword(page, fay)
  await page.getByRole('link', { name: 'Set up app' }).click()
  const secret = await page.getByRole('dialog').locator('.secret code').innerText()
  const app = new TOTP({ secret: Secret.fromBase32(secret) })
  await page.getByLabel('Code from the app').fill(app.generate())
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('button', { name: 'I’ve saved the codes' }).click()

  // Long after signing in, linking an account requires confirming the identity first.
  const token = (await context.cookies()).find(({ name }) => name === 'posthaste_session')!.value
  await posthaste.appliance.storage.proveSession({ tokenHash: hashToken(token), strong: false }, 0)
  await page.getByRole('link', { name: 'Link Corporation' }).click()
  const question = page.getByRole('dialog', { name: 'Confirm it’s you' })
  await question.getByLabel('Password').fill(fay.password)
  await question.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Go to Corporation' }).click()
  await page.getByRole('button', { name: 'Continue as fay' }).click()
  await page.getByText('fay@corp.example · linked').waitFor()
  await context.close()

  const { page: other, context: another, errors: more } = await openPage(browser)
  // The provider has no session in a new browser.
  await other.goto(at('/domains?from=a-link'))
  await other.getByRole('button', { name: 'Sign in with Corporation' }).click()
  await other.getByRole('button', { name: 'Continue as fay' }).click()
  await other.getByRole('heading', { name: 'One more step' }).waitFor()
  await expect.poll(() => new URL(other.url()).searchParams.get('step')).toBe('1')
  await other
    .getByLabel('Code from your authenticator app')
    .fill(app.generate({ timestamp: Date.now() + 30_000 }))
  await other.getByRole('button', { name: 'Sign in', exact: true }).click()
  await other.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
  await expect.poll(() => other.url()).toBe(at('/domains?from=a-link'))

  // If the step has expired, the user starts over and sees why.
  await other.getByRole('button', { name: 'Sign out', exact: true }).click()
  await other.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
  await other.goto(at('/sign-in?step=1'))
  await other.getByText('The sign-in timed out. Sign in again.').waitFor()
  expect([...errors, ...more]).toEqual([])
  await another.close()
})

test('the user of an unverified address signs in after a password reset, which ends earlier access', async () => {
  const email = 'ivy@people.example'
  await addMember(posthaste, 'viewer', { email, password: 'somebody else waits at the gate' })
  idp.visitor = { subject: 'ivy', does: 'page', claims: { email, email_verified: true } }
  const { page, context, errors } = await openPage(browser)
  await page.goto(at('/sign-in'))
  await page.getByRole('button', { name: 'Sign in with Company' }).click()
  await page.getByRole('button', { name: 'Continue as ivy' }).click()
  await page.getByText('its address isn’t verified').waitFor()
  await sound(page, 'sign-in-unproven-address')
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await page.getByLabel('Email address').fill(email)
  await page.getByRole('button', { name: 'Send reset link' }).click()
  await page.getByText('an email with a link is on its way').waitFor()

  const caught = async () => {
    const { body } = await posthaste.call<{ data: { id: string; to: string[]; subject: string }[] }>(
      ...(['GET', '/sandbox/messages'] as const),
    )
    return body.data.find(({ subject }) => subject === 'Reset your Posthaste password')?.id
  }
  await expect.poll(caught).toBeTruthy()
  const { body } = await posthaste.call<{ text: string }>('GET', `/sandbox/messages/${await caught()}`)
  await page.goto(/http:\S+/.exec(body.text)![0])
  for (const field of ['New password', 'Confirm new password'])
    await page.getByLabel(field, { exact: true }).fill('ivy climbs over the old wall')
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.getByText(`All sessions of ${email} have ended.`).waitFor()
  // The provider still has the session.
  await page.goto(at('/sign-in'))
  await page.getByRole('button', { name: 'Sign in with Company' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.getByRole('complementary').getByRole('link', { name: email }).waitFor()
  expect(errors).toEqual([])
  await context.close()
})

describe('an invitation', () => {
  const invite = async (email: string, teamId: string, userId: string) => {
    const by = { userId, role: 'owner' } as const
    const { token } = await posthaste.appliance.accounts.members.invite({
      teamId,
      email,
      role: 'developer',
      by,
    })
    return { token, link: at(`/invitation#${token}`) }
  }
  const ownerId = async () =>
    (await posthaste.appliance.accounts.findOwner({ email: posthaste.ownerEmail }))!.user.id

  test('an invitation survives a sign-in with the provider without revealing its token', async () => {
    const hal: Person = { email: 'hal@people.example', password: 'hal walks along the quiet quay' }
    await addMember(posthaste, 'viewer', hal)
    const claims = { email: 'hal@corp.example', email_verified: true }
    idp.visitor = { subject: 'hal', does: 'page', claims }
    const { page, context, errors } = await openPage(browser)
    await page.goto(at('/account'))
    await givePassword(page, hal)
    await page.getByRole('link', { name: 'Link Corporation' }).click()
    await page.getByRole('button', { name: 'Go to Corporation' }).click()
    await page.getByRole('button', { name: 'Continue as hal' }).click()
    await page.getByText('hal@corp.example · linked').waitFor()
    await context.close()

    const userId = await ownerId()
    const team = await posthaste.appliance.accounts.teams.createTeam({ name: 'Newsletters', ownerId: userId })
    const { token, link } = await invite(hal.email, team.id, userId)
    const { page: other, context: another, errors: more } = await openPage(browser)
    await other.goto(link)
    await other.getByText('already has an account').waitFor()
    const asked: string[] = []
    other.on('request', (request) => asked.push(request.url(), JSON.stringify(request.headers())))
    await other.getByRole('link', { name: 'Sign in' }).click()
    await other.getByRole('button', { name: 'Sign in with Corporation' }).click()
    await other.getByRole('button', { name: 'Continue as hal' }).click()
    await other.getByText('You’ll join with the developer role').waitFor()
    await expect.poll(() => other.url()).toBe(at('/invitation'))
    expect(await other.evaluate('sessionStorage.length')).toBe(0)
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter((text) => text.includes(token))).toEqual([])
    await other.getByRole('button', { name: 'Join team' }).click()
    const teams = other.getByRole('combobox', { name: 'Team' })
    await teams.waitFor()
    await expect.poll(() => teams.locator('option').allInnerTexts()).toContain('Newsletters (developer)')
    expect([...errors, ...more]).toEqual([])
    await another.close()
  })

  test('a new user accepts an invitation by signing in with the provider, without a password', async () => {
    const email = 'gil@corp.example'
    const { link } = await invite(email, posthaste.teamId, await ownerId())
    idp.visitor = { subject: 'gil', does: 'page', claims: { email, email_verified: true } }
    const { page, context, errors } = await openPage(browser)
    await page.goto(link)
    await page.getByText('You’ll join with the developer role.').waitFor()
    await page.getByRole('button', { name: 'Sign in with Corporation' }).waitFor()
    await sound(page, 'invitation-new-provider')
    await page.getByRole('button', { name: 'Sign in with Corporation' }).click()
    await page.getByRole('button', { name: 'Continue as gil' }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await page.getByRole('complementary').getByRole('link', { name: email }).waitFor()
    expect(errors).toEqual([])
    await context.close()
  })
})
