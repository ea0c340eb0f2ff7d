import { TOTP, Secret } from 'otpauth'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { addMember, byName, givePassword, type Person } from './people.ts'
import { sound } from './sound.ts'
import { hashToken } from '../../appliance/accounts/accounts.ts'

/** Tests second factors in a real browser, with Chromium's virtual authenticator. */

let posthaste: TestAppliance
let browser: Browser

const at = (path: string) => byName(posthaste) + path

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Returns the app's code, `later` steps ahead. Each code works once, but one step early is accepted, too. */
const codeOf = (secret: string, later: 0 | 1 = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + later * 30_000 })

/** Adds a virtual device with passkeys and a fingerprint reader that always succeeds. */
async function addAuthenticator(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const
  const finger = { hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true }
  await session.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, ...finger } })
  return session
}

async function member(name: string, role: 'developer' | 'viewer' = 'developer'): Promise<Person> {
  const person = { email: `${name}@people.example`, password: `${name} walks along the quiet quay` }
  await addMember(posthaste, role, person)
  return person
}

/** Opens the account page, signed in. */
async function atAccount(person: Person): Promise<Watched> {
  const opened = await openPage(browser)
  await opened.page.goto(at('/account'))
  await givePassword(opened.page, person)
  await opened.page.getByRole('heading', { name: 'Two-step sign-in' }).waitFor()
  return opened
}

async function leave(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
}

/** Backdates the session, as if the password or factor was last confirmed long ago. */
async function becomeStale(page: Page): Promise<void> {
  const cookies = await page.context().cookies()
  const token = cookies.find(({ name }) => name === 'posthaste_session')!.value
  await posthaste.appliance.storage.proveSession({ tokenHash: hashToken(token), strong: false }, 0)
}

const shell = (page: Page) => page.getByRole('navigation', { name: 'Main' })

/** Sets up an authenticator app. Returns its secret and the recovery codes. */
async function setUpApp(page: Page): Promise<{ secret: string; codes: string[] }> {
  await page.getByRole('link', { name: 'Set up app' }).click()
  const dialog = page.getByRole('dialog', { name: 'Set up authenticator app' })
  const secret = await dialog.locator('.secret code').innerText()
  await dialog.getByRole('img', { name: 'QR code with the secret' }).waitFor()
  await dialog.getByLabel('Code from the app').fill(codeOf(secret))
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  const shown = page.getByRole('dialog', { name: 'Save your recovery codes' })
  await shown.waitFor()
  const codes = await shown.locator('li code').allInnerTexts()
  await shown.getByRole('button', { name: 'I’ve saved the codes' }).click()
  return { secret, codes }
}

describe('an authenticator app', () => {
  test('an authenticator app is set up with a first code and then required; a recovery code works once instead', async () => {
    const ada = await member('ada')
    const { page, context, errors } = await atAccount(ada)
    await page.getByRole('link', { name: 'Set up app' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set up authenticator app' })
    await dialog.getByRole('img', { name: 'QR code with the secret' }).waitFor()
    await sound(page, 'totp-new')
    await dialog.getByLabel('Code from the app').fill('000000')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    const { secret, codes } = await setUpApp(page)
    expect(new Set(codes).size).toBe(10)
    await page.getByText('10 of 10 left').waitFor()
    for (const code of codes) await expect.poll(() => page.getByText(code).count()).toBe(0)
    await sound(page, 'account-factors')
    await leave(page)

    await page.goto(at('/domains?from=a-link'))
    await givePassword(page, ada)
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await sound(page, 'second-step')
    const field = page.getByLabel('Code from your authenticator app')
    await field.fill('123')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await sound(page, 'second-step-wrong')
    await field.fill(codeOf(secret, 1))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await expect.poll(() => page.url()).toBe(at('/domains?from=a-link'))
    await leave(page)

    for (const again of [false, true]) {
      await givePassword(page, ada)
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
      await page.getByLabel('Recovery code').fill(codes[0]!.toUpperCase())
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      if (again) await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
      else {
        await shell(page).waitFor()
        await page.goto(at('/account'))
        await page.getByText('9 of 10 left').waitFor()
        await leave(page)
      }
    }
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByLabel('Email address').waitFor()
    expect(errors).toEqual([])
    await context.close()
  })

  test('removing an authenticator app requires the password if the sign-in is not recent', async () => {
    const bert = await member('bert')
    const { page, context, errors } = await atAccount(bert)
    await setUpApp(page)
    await page.getByRole('link', { name: 'Create new codes' }).click()
    await page.getByRole('button', { name: 'Create new codes' }).click()
    const shown = page.getByRole('dialog', { name: 'Save your recovery codes' })
    await shown.waitFor()
    await sound(page, 'recovery-codes')
    await shown.getByRole('button', { name: 'I’ve saved the codes' }).click()

    await becomeStale(page)
    await page.getByRole('link', { name: 'Remove app' }).click()
    const question = page.getByRole('dialog', { name: 'Confirm it’s you' })
    await question.getByLabel('Password').fill('wrong')
    await question.getByRole('button', { name: 'Continue' }).click()
    await question.getByRole('alert').filter({ hasText: /./ }).waitFor()
    await sound(page, 'account-proof')
    await question.getByLabel('Password').fill(bert.password)
    await question.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Remove app' }).click()
    await page.getByRole('link', { name: 'Set up app' }).waitFor()
    await expect.poll(() => page.getByText('of 10 left').count()).toBe(0)
    expect(errors).toEqual([])
    await context.close()
  })
})

/** Returns the titles of the open dialogs. */
const titles = (page: Page) => page.getByRole('dialog').locator('h2').allInnerTexts()

describe('URLs of second-factor dialogs', () => {
  test('URLs open second-factor dialogs, Back and Esc close them, and one-time secrets are not shown again', async () => {
    const eli = await member('eli')
    const { page, context, errors } = await atAccount(eli)
    await addAuthenticator(page)
    await page.getByRole('link', { name: 'Set up app' }).click()
    await expect.poll(() => page.url()).toBe(at('/account?do=app'))
    const first = await page.locator('.secret code').innerText()
    await page.goBack()
    await expect.poll(() => titles(page)).toEqual([])
    await page.goForward()
    const secret = await page.locator('.secret code').innerText()
    expect(secret).not.toBe(first)
    await page.getByLabel('Code from the app').fill(codeOf(secret))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await expect.poll(() => titles(page)).toEqual(['Save your recovery codes'])
    const code = await page.locator('li code').first().innerText()
    await page.reload()
    await page.getByRole('link', { name: 'Remove app' }).waitFor()
    expect([await titles(page), await page.getByText(code).count()]).toEqual([[], 0])

    await page.goto(at('/account'))
    for (const [words, query, title] of [
      ['Remove app', 'do=remove-app', 'Remove the authenticator app?'],
      ['Add passkey', 'do=passkey', 'Add passkey'],
      ['Create new codes', 'do=codes', 'Create new recovery codes?'],
    ]) {
      await page.getByRole('link', { name: words }).click()
      await expect.poll(() => titles(page)).toEqual([title])
      expect(page.url()).toBe(at(`/account?${query}`))
      await page.goBack()
      await expect.poll(() => titles(page)).toEqual([])
      await page.goto(at(`/account?${query}`))
      await expect.poll(() => titles(page)).toEqual([title])
      await page.keyboard.press('Escape')
      await expect.poll(() => page.url()).toBe(at('/account'))
    }
    await page.getByText('10 of 10 left').waitFor()

    await page.getByRole('link', { name: 'Create new codes' }).click()
    await page.getByRole('button', { name: 'Create new codes' }).click()
    await expect.poll(() => titles(page)).toEqual(['Save your recovery codes'])
    await page.goBack()
    await expect.poll(() => titles(page)).toEqual([])
    await page.goForward()
    await expect.poll(() => titles(page)).toEqual(['Create new recovery codes?'])
    expect(errors).toEqual([])
    await context.close()
  })

  test('second-factor dialogs ask for the password first if the sign-in is not recent', async () => {
    const fred = await member('fred')
    const { page, context, errors } = await atAccount(fred)
    await setUpApp(page)
    await becomeStale(page)
    for (const query of ['do=remove-app', 'do=codes']) {
      await page.goto(at(`/account?${query}`))
      await expect.poll(() => titles(page)).toEqual(['Confirm it’s you'])
      await page.keyboard.press('Escape')
      await expect.poll(() => page.url()).toBe(at('/account'))
    }
    await page.getByRole('link', { name: 'Remove app' }).click()
    await expect.poll(() => titles(page)).toEqual(['Confirm it’s you'])
    await page.goBack()
    await expect.poll(() => titles(page)).toEqual([])
    expect(page.url()).toBe(at('/account'))

    await page.route('**/account/factors', (route) => route.abort())
    await page.getByRole('link', { name: 'Remove app' }).click()
    await page.getByRole('dialog').getByText('No data was lost.').waitFor()
    await page.unroute('**/account/factors')
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('dialog').getByLabel('Password').waitFor()
    expect(errors).toEqual([])
    await context.close()
  })
})

describe('a passkey', () => {
  test('a passkey can be added, named, used to sign in or as the second step, and removed', async () => {
    const cora = await member('cora')
    const { page, context, errors } = await atAccount(cora)
    await addAuthenticator(page)
    await page.getByRole('link', { name: 'Add passkey' }).click()
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('button', { name: 'I’ve saved the codes' }).click()
    await page.getByRole('link', { name: 'Rename Passkey 1' }).click()
    await page.getByLabel('Name', { exact: true }).fill('The phone of Cora')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByText('The phone of Cora').first().waitFor()
    await page.getByRole('link', { name: 'Rename The phone of Cora' }).click()
    await expect.poll(() => page.url()).toMatch(/\/account\?rename=/)
    await page.goBack()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await sound(page, 'account-passkey')
    await page.getByRole('link', { name: 'Add passkey' }).click()
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByText('This device already has a passkey for this account.').waitFor()
    await page.keyboard.press('Escape')
    await leave(page)

    await sound(page, 'sign-in')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await shell(page).waitFor()
    await leave(page)

    await givePassword(page, cora)
    await page.getByText('Use your passkey to confirm it’s you.').waitFor()
    await sound(page, 'second-step-passkey')
    await page.getByRole('button', { name: 'Continue with passkey' }).click()
    await shell(page).waitFor()

    await page.goto(at('/account'))
    await page.getByText('last used').first().waitFor()
    await page.getByRole('link', { name: 'Remove The phone of Cora' }).click()
    await page.getByRole('button', { name: 'Remove passkey' }).click()
    await expect.poll(() => page.getByText('The phone of Cora').count()).toBe(0)
    await leave(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('alert').filter({ hasText: /./ }).first().waitFor()
    await expect.poll(() => shell(page).count()).toBe(0)
    expect(errors).toEqual([])
    await context.close()
  })

  test('a passkey used without user verification is rejected with a message', async () => {
    const { page, context } = await openPage(browser)
    const session = await addAuthenticator(page)
    await session.send('WebAuthn.disable')
    await session.send('WebAuthn.enable')
    const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const
    const nobody = { hasUserVerification: true, isUserVerified: false, automaticPresenceSimulation: true }
    await session.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, ...nobody } })
    await page.goto(at('/sign-in'))
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('The passkey wasn’t used: you canceled the request, or it timed out.').waitFor()
    await context.close()
  })
})

describe('a team that requires a second factor', () => {
  test('a team that requires a second factor sends members without one to the account page to set one up', async () => {
    const dora = await member('dora')
    const { page, context, errors } = await openPage(browser)
    const { storage } = posthaste.appliance
    const demand = (required: boolean) =>
      storage.setMfaRequired({ id: posthaste.teamId, required }, Date.now())
    await demand(true)
    await page.goto(at('/domains'))
    await givePassword(page, dora)
    await page.getByText('Your team requires two-step sign-in.').waitFor()
    await expect.poll(() => page.url()).toBe(at('/account'))
    await sound(page, 'account-must-enrol')
    await shell(page).getByRole('link', { name: 'Emails' }).click()
    await page.getByText('Your team requires two-step sign-in.').waitFor()
    await expect.poll(() => page.url()).toBe(at('/account'))

    await setUpApp(page)
    await shell(page).getByRole('link', { name: 'Domains' }).click()
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await page.getByRole('link', { name: posthaste.domain, exact: true }).waitFor()
    await demand(false)
    expect(errors).toEqual([])
    await context.close()
  })
})
