import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the account pages in a real browser: password, password reset, sessions, and cross-origin attacks. */

let posthaste: TestAppliance
let browser: Browser
let elsewhere: Server
let attack = ''

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  elsewhere = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(attack)
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, resolve))
  browser = await launch()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
  await new Promise((resolve) => elsewhere.close(resolve))
})

async function signIn(page: Page, password: string, path = '/account'): Promise<void> {
  await page.goto(at(path))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

interface Caught {
  data: { id: string; subject: string }[]
}

/** Returns the link in the newest email with that subject in the sandbox's inbox. */
async function linkIn(subject: string): Promise<string> {
  const find = async () => {
    const { body } = await posthaste.call<Caught>('GET', '/sandbox/messages')
    return body.data.find((one) => one.subject === subject)?.id
  }
  await expect.poll(find).toBeTruthy()
  const { body } = await posthaste.call<{ text: string }>('GET', `/sandbox/messages/${await find()}`)
  return /http:\S+/.exec(body.text)![0]
}

describe('the user’s own account', () => {
  test('resets a forgotten password by an emailed link, changes it, and ends other sessions', async () => {
    const { page, context, errors } = await openPage(browser)
    const other = await openPage(browser)
    await signIn(other.page, posthaste.ownerPassword)

    await page.goto(at('/emails'))
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('Email address').fill(posthaste.ownerEmail)
    await sound(page, 'forgot-password')
    await page.getByRole('button', { name: 'Send reset link' }).click()
    await page.getByText('an email with a link is on its way').waitFor()

    await page.goto(await linkIn('Reset your Posthaste password'))
    await page.getByLabel('New password', { exact: true }).fill('Sunshine2024')
    await page.getByLabel('Confirm new password').fill('Sunshine2024')
    await expect.poll(() => page.url()).toBe(at('/reset'))
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('harder to guess').waitFor()
    await sound(page, 'reset-password')
    await page.getByLabel('New password', { exact: true }).fill('a lantern over the pier')
    await page.getByLabel('Confirm new password').fill('a lantern over the pier')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText(`All sessions of ${posthaste.ownerEmail} have ended.`).waitFor()

    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    await signIn(other.page, 'a lantern over the pier')
    await signIn(page, 'a lantern over the pier')
    await page.getByText('this browser', { exact: true }).waitFor()
    await sound(page, 'account')

    await page.getByRole('link', { name: 'Change password' }).click()
    await page.getByLabel('Current password').fill('never sent')
    await page.goBack()
    await expect.poll(() => page.getByLabel('Current password').count()).toBe(0)
    await page.goto(at('/account?do=password'))
    expect(await page.getByLabel('Current password').inputValue()).toBe('')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(at('/account'))
    await page.getByRole('link', { name: 'Change password' }).click()
    await page.getByLabel('Current password').fill('wrong')
    await page.getByLabel('New password', { exact: true }).fill('two lanterns over the pier')
    await page.getByLabel('Confirm new password').fill('two lanterns over the pier')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('wrong password').waitFor()
    await sound(page, 'account-password')
    await page.getByLabel('Current password').fill('a lantern over the pier')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Password changed.').waitFor()
    await page.getByText('You aren’t signed in anywhere else.').waitFor()

    await signIn(other.page, 'two lanterns over the pier')
    await page.reload()
    await page.getByRole('link', { name: 'Sign out everywhere else' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByText('You aren’t signed in anywhere else.').waitFor()
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in to Posthaste' }).waitFor()
    expect([...errors, ...other.errors]).toEqual([])
    await context.close()
    await other.context.close()
  })
})

const ATTACKED = 'three lanterns over the pier'

/** Makes every request that a page can send without a preflight, and tries to read a response. */
const attackOn = (target: string) => `<!doctype html><title>Prizes</title>
<iframe name="sink"></iframe>
<form id="plain" target="sink" method="post" enctype="text/plain" action="${target}/account/password">
  <input name='{"current":"${ATTACKED}","new":"taken by somebody else","x":"' value='"}'></form>
<form id="usual" target="sink" method="post" action="${target}/session/reset"><input name="email" value="x@y.example"></form>
<script>
  const go = { credentials: 'include', mode: 'no-cors', method: 'POST' }
  const tries = [
    fetch('${target}/account/password', { ...go, body: '{"current":"a","new":"b"}' }),
    fetch('${target}/session', { ...go, body: '{}' }),
    fetch('${target}/api-keys', { ...go, body: '{"name":"stolen"}' }),
    fetch('${target}/account/sessions', { method: 'DELETE', credentials: 'include' }),
    fetch('${target}/api-keys', { method: 'POST', credentials: 'include', body: '{"name":"stolen"}',
      headers: { 'content-type': 'application/json', 'x-requested-with': 'dashboard' } }),
    fetch('${target}/account/sessions', { credentials: 'include' }).then((answer) => answer.text()),
  ]
  document.getElementById('plain').submit()
  document.getElementById('usual').submit()
  Promise.allSettled(tries).then((all) => { document.title = 'done ' + all.map((one) => one.status[0]).join('') })
</script>`

describe('a page on another origin', () => {
  beforeAll(async () => {
    const { accounts } = posthaste.appliance
    const { user } = (await accounts.findOwner({ email: posthaste.ownerEmail }))!
    await accounts.setPassword({ userId: user.id, password: ATTACKED })
  })

  test.each([
    ['on another host, which gets no cookie', 'localhost'],
    ['on another port of the same host, which gets the cookie', '127.0.0.1'],
  ])('a page %s cannot change or read anything', async (_where, host) => {
    const { page, context } = await openPage(browser)
    await signIn(page, ATTACKED)
    const cookies = await context.cookies(posthaste.url)
    expect(cookies.find(({ name }) => name === 'posthaste_session')).toMatchObject({
      httpOnly: true,
      sameSite: 'Strict',
    })
    expect(await page.evaluate('document.cookie')).toBe('')

    attack = attackOn(posthaste.url)
    const visited = await context.newPage()
    const asked: string[] = []
    visited.on(
      'request',
      (request) => void asked.push(`${request.method()} ${new URL(request.url()).pathname}`),
    )
    await visited.goto(`http://${host}:${(elsewhere.address() as AddressInfo).port}/`)
    // Three requests are sent, but the page can't read the responses (Cross-Origin-Resource-Policy). The others need a
    // preflight, which fails.
    await expect.poll(() => visited.title()).toBe('done rrrrrr')
    await expect.poll(() => asked.filter((one) => one.startsWith('POST')).length).toBeGreaterThan(4)

    const keys = await posthaste.call<{ data: { name: string }[] }>('GET', '/api-keys')
    expect(keys.body.data.map(({ name }) => name)).not.toContain('stolen')
    await page.reload()
    await page.getByText('this browser', { exact: true }).waitFor()
    await context.close()
    const attempt = { email: posthaste.ownerEmail, password: ATTACKED, ip: null, userAgent: null }
    expect(await posthaste.appliance.accounts.signIn(attempt)).toMatchObject({ kind: 'session' })
  })
})
