import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, still } from './browser.ts'
import { inOrder, shiftsOf, watchShifts } from './shifts.ts'

/** Tests that pages with several requests don't shift, whichever response comes last. */

let posthaste: TestAppliance
let browser: Browser
let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>
/** An email that waits for its second attempt. */
let delayed: string

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  const corp = { id: 'corp', label: 'Corporation', issuer: 'http://127.0.0.1:1', client_id: 'posthaste' }
  const providers = [{ ...corp, client_secret: 'nobody asks for it' }]
  posthaste = await startAppliance({ config: { sign_in: { providers } } })
  browser = await launch()
  const { page, context } = await openPage(browser)
  await page.goto(at('/emails'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  signedIn = await context.storageState()
  await context.close()
  delayed = await posthaste.send({ to: 'defer@reader.example' })
  await posthaste.until(delayed, ({ deliveries: [one] }) => one?.state === 'waiting' && one.attempts === 1)
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Returns what shifts as the responses arrive one by one, `last` being the last. */
async function moved(
  path: string,
  width: number,
  order: readonly string[],
  last: string,
): Promise<unknown[]> {
  const { page, context } = await openPage(browser, { storageState: signedIn })
  await page.setViewportSize({ width, height: 800 })
  await watchShifts(page)
  const answers = await inOrder(page, order)
  await page.goto(at(path))
  for (const answer of answers) {
    await answer()
    await still(page)
  }
  await page.getByText(last).first().waitFor()
  await still(page)
  const shifts = await shiftsOf(page)
  await context.close()
  return shifts
}

/** Returns both orders of the responses, on desktop and on a phone. */
const ways = (parts: readonly string[]) =>
  [1280, 390].flatMap((width) => [parts, parts.toReversed()].map((order) => ({ width, order })))

test('the layout does not shift while an email that can be retried loads, in either order of its parts', async () => {
  for (const { width, order } of ways([`/emails/${delayed}`, `/emails/${delayed}/timeline`]))
    expect([width, order, await moved(`/emails/${delayed}`, width, order, 'Retry now')]).toEqual([
      width,
      order,
      [],
    ])
})

test('the layout does not shift while the account page loads, in either order of its parts', async () => {
  const parts = ['/account/factors', '/account/identities', '/session/providers', '/account/sessions']
  for (const { width, order } of ways(parts))
    expect([width, order, await moved('/account', width, order, 'this browser')]).toEqual([width, order, []])
})
