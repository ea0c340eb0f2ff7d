import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/** Tests date pickers and fields with suggestions: with the keyboard, with the pointer, and under a stricter policy. */

let posthaste: TestAppliance
let browser: Browser

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const search = (page: Page) => new URL(page.url()).searchParams
const focused = (page: Page) =>
  page.evaluate<string | null>(`document.activeElement.getAttribute('aria-label')`)
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
/** Polls with a long timeout, for busy machines. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 60_000 })
/** Returns the suggestions, without the options of a `<select>`. */
const suggested = (page: Page) => page.locator('div[role=option]')
const options = (page: Page) => suggested(page).allTextContents()

/** Cookies of a user who signed in once, because many sign-ins in a row would be throttled. */
let signedIn: NonNullable<BrowserContextOptions['storageState']>

/** Opens a page of a signed-in user. */
async function desk(settings: BrowserContextOptions = {}) {
  const opened = await openPage(browser, { storageState: signedIn, ...settings })
  await opened.page.goto(at('/emails'))
  await opened.page.getByRole('navigation', { name: 'Main' }).waitFor()
  return opened
}

async function signInOnce(): Promise<void> {
  const { page, context } = await openPage(browser)
  await page.goto(at('/emails'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  signedIn = await context.storageState()
  await context.close()
}

beforeAll(async () => {
  posthaste = await startAppliance()
  for (const name of ['alpha.example', 'beta.example', 'not-alpha.example'])
    await posthaste.call('POST', '/domains', { name })
  browser = await launch()
  await signInOnce()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

describe('a field with suggestions', () => {
  test('suggestions by keyboard: typing filters, arrows and Enter choose, Backspace clears, Esc closes', async () => {
    const { page, context, errors } = await desk()
    await page.goto(at('/emails?live=off'))
    await button(page, 'Domain: Any domain').focus()
    await page.keyboard.press('ArrowDown')
    const field = page.getByRole('combobox', { name: 'Domain', exact: true })
    await eventually(() => options(page)).toContain('beta.example')
    await eventually(() => focused(page)).toBe('Domain')
    expect(await field.getAttribute('aria-expanded')).toBe('true')

    // Prefix matches come first. A screen reader announces the number of suggestions and the selected one.
    await page.keyboard.type('ALPHA')
    await eventually(() => options(page)).toEqual(['alpha.example', 'not-alpha.example', '“ALPHA”'])
    await page.getByRole('status').getByText('2 options').waitFor()
    const meant = () => page.locator('[role=option][data-highlighted]').allTextContents()
    await eventually(meant).toEqual(['alpha.example'])
    await page.keyboard.press('ArrowDown')
    await eventually(meant).toEqual(['not-alpha.example'])
    const active = await field.getAttribute('aria-activedescendant')
    expect(await page.locator(`[id="${active}"]`).textContent()).toBe('not-alpha.example')
    await page.keyboard.press('Enter')
    await eventually(() => search(page).get('q')).toBe('domain:not-alpha.example')
    await eventually(() => focused(page)).toBe('Domain: not-alpha.example')
    expect(await suggested(page).count()).toBe(0)

    // A letter opens it with that letter.
    await page.keyboard.press('b')
    await eventually(() => options(page)).toContain('beta.example')
    expect(await field.inputValue()).toBe('b')
    await page.keyboard.press('Escape')
    await eventually(() => focused(page)).toBe('Domain: not-alpha.example')
    expect(search(page).get('q')).toBe('domain:not-alpha.example')

    await page.keyboard.press('Backspace')
    await button(page, 'Domain: Any domain').waitFor()
    expect(search(page).get('q')).toBe(null)
    expect(errors).toEqual([])
    await context.close()
  })

  test('suggestions by pointer: a click chooses, a click outside closes, and other values can be typed', async () => {
    const { page, context, errors } = await desk()
    await page.goto(at('/emails?live=off'))
    await button(page, 'Domain: Any domain').click()
    await page.getByRole('option', { name: 'beta.example' }).click()
    await button(page, 'Domain: beta.example').waitFor()
    expect(search(page).get('q')).toBe('domain:beta.example')

    await button(page, 'Recipient domain: Any recipient domain').click()
    await page.getByRole('combobox', { name: 'Recipient domain' }).fill('elsewhere.example')
    await page.getByRole('option', { name: '“elsewhere.example”' }).click()
    await button(page, 'Recipient domain: elsewhere.example').waitFor()
    expect(search(page).get('q')).toBe('domain:beta.example at:elsewhere.example')

    await button(page, 'Domain: beta.example').click()
    await page.getByRole('option', { name: 'alpha.example', exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Emails', exact: true }).click()
    await eventually(() => suggested(page).count()).toBe(0)
    await button(page, 'Domain: beta.example').click()
    await page.getByRole('option', { name: 'Any domain' }).click()
    await button(page, 'Domain: Any domain').waitFor()
    expect(search(page).get('q')).toBe('at:elsewhere.example')
    expect(errors).toEqual([])
    await context.close()
  })

  test('suggestions in a sheet: Esc closes the suggestions first, and then the sheet', async () => {
    const { page, context } = await desk()
    await page.goto(at('/api-keys?new=1'))
    const sheet = page.getByRole('dialog', { name: 'Create API key' })
    await sheet.getByRole('button', { name: 'Domain: All domains' }).click()
    await sheet.getByRole('combobox', { name: 'Domain' }).fill('nothing like it')
    await eventually(() => options(page)).toEqual(['No matches for “nothing like it”'])
    await page.keyboard.press('Escape')
    await eventually(() => focused(page)).toBe('Domain: All domains')
    expect(await suggested(page).count()).toBe(0)
    expect(await sheet.isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await eventually(() => sheet.count()).toBe(0)
    await context.close()
  })
})

describe('the date picker', () => {
  const day = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  test('the date picker by keyboard: arrows move by day and week, Enter chooses the first and last day', async () => {
    const { page, context, errors } = await desk()
    await page.goto(at('/metrics?range=custom&from=2024-03-10&to=2024-03-20'))
    await button(page, 'Days: 2024-03-10 to 2024-03-20').focus()
    await page.keyboard.press('Enter')
    await eventually(() => focused(page)).toBe('Sunday, March 10, 2024')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    await eventually(() => focused(page)).toBe('Monday, March 18, 2024')
    await page.keyboard.press('Enter')
    await eventually(() => page.getByLabel('First day').inputValue()).toBe('2024-03-18')
    // Across the end of the month.
    for (let week = 0; week < 3; week++) await page.keyboard.press('ArrowDown')
    await eventually(() => focused(page)).toBe('Monday, April 8, 2024')
    expect(search(page).get('from')).toBe('2024-03-10')
    await page.keyboard.press('Enter')
    await eventually(() => focused(page)).toBe('Days: 2024-03-18 to 2024-04-08')
    expect(page.url()).toBe(at('/metrics?range=custom&from=2024-03-18&to=2024-04-08'))

    await page.keyboard.press('Enter')
    await eventually(() => focused(page)).toBe('Monday, March 18, 2024')
    await page.keyboard.press('Escape')
    await eventually(() => focused(page)).toBe('Days: 2024-03-18 to 2024-04-08')
    expect(await page.getByRole('grid').count()).toBe(0)
    await page.goBack()
    await button(page, 'Days: 2024-03-10 to 2024-03-20').waitFor()
    expect(errors).toEqual([])
    await context.close()
  })

  test('the date picker by pointer: chooses either end first, other months, and a single day', async () => {
    const { page, context, errors } = await desk()
    await page.goto(at('/metrics?range=custom&from=2024-03-10&to=2024-03-20'))
    await button(page, 'Days: 2024-03-10 to 2024-03-20').click()
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.getByRole('grid', { name: 'February 2024' }).waitFor()
    expect(await page.getByRole('grid').count()).toBe(2)
    await day(page, 'Tuesday, March 5, 2024').click()
    await day(page, 'Thursday, February 29, 2024').click()
    await button(page, 'Days: 2024-02-29 to 2024-03-05').click()
    expect(page.url()).toBe(at('/metrics?range=custom&from=2024-02-29&to=2024-03-05'))
    await day(page, 'Friday, March 1, 2024').click()
    await day(page, 'Friday, March 1, 2024').click()
    await button(page, 'Days: 2024-03-01').waitFor()
    await button(page, 'Days: 2024-03-01').click()
    await sound(page, 'metrics-days')
    await page.setViewportSize({ width: 390, height: 844 })
    await eventually(() => page.getByRole('grid').count()).toBe(1)
    await page.getByRole('button', { name: '30 days' }).click()
    await eventually(() => page.url()).toBe(at('/metrics?range=30d'))
    await eventually(() => page.getByRole('grid').count()).toBe(0)
    expect(errors).toEqual([])
    await context.close()
  })

  test('future days cannot be chosen, in the local time zone or UTC', async () => {
    const { page, context } = await desk({ timezoneId: 'Pacific/Kiritimati' })
    // The dashboard's clock follows the appliance's.
    await page.route('**', async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.continue()
      if (new URL(route.request().url()).pathname === '/live') return route.abort()
      const response = await route.fetch()
      const { date: _date, ...headers } = response.headers()
      return route.fulfill({ response, headers })
    })
    await page.clock.setFixedTime('2024-03-10T12:00:00Z')
    await page.goto(at('/metrics'))
    const may = async () => {
      await page.getByRole('button', { name: 'Days: ' }).click()
      await page.getByRole('grid', { name: 'March 2024' }).waitFor()
      const names = ['Sunday, March 10, 2024', 'Monday, March 11, 2024', 'Tuesday, March 12, 2024']
      const said = names.map((name) => day(page, name).getAttribute('aria-disabled'))
      const answers = await Promise.all(said)
      await page.keyboard.press('Escape')
      await eventually(() => page.getByRole('grid').count()).toBe(0)
      return answers
    }
    expect(await may()).toEqual(['false', 'false', 'true'])
    await page.getByRole('group', { name: 'Time zone' }).getByRole('button', { name: 'UTC' }).click()
    expect(await may()).toEqual(['false', 'true', 'true'])
    // The page may still be waiting for responses.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.close()
  })

  test('weeks start on the day customary in the browser’s language', async () => {
    const first = async (locale: string) => {
      const { page, context } = await desk({ locale })
      await page.goto(at('/metrics'))
      await page.getByRole('button', { name: 'Days: ' }).click()
      const head = await page.getByRole('columnheader').or(page.locator('thead th')).first().textContent()
      await context.close()
      return head
    }
    expect([await first('en-US'), await first('de-DE')]).toEqual(['Su', 'Mo'])
  })

  test('filters emails by date: offers presets, shows the days of a search, and accepts typed days', async () => {
    const { page, context, errors } = await desk()
    await page.goto(
      at(`/emails?live=off&q=${encodeURIComponent('Order after:2024-03-10 before:2024-03-16')}`),
    )
    await button(page, 'Time: 2024-03-10 to 2024-03-15').click()
    await page.getByRole('button', { name: 'Last 24 hours' }).click()
    await button(page, 'Time: Last 24 hours').waitFor()
    expect(search(page).get('q')).toBe('Order after:24h')
    await button(page, 'Time: Last 24 hours').click()
    await eventually(() => page.evaluate('document.activeElement.textContent')).toBe('Last 24 hours')
    await page.getByLabel('First day').fill('2024-02-28')
    await page.getByLabel('Last day').fill('2024-02-29')
    await page.getByLabel('Last day').press('Enter')
    await button(page, 'Time: 2024-02-28 to 2024-02-29').waitFor()
    expect(search(page).get('q')).toBe('Order after:2024-02-28 before:2024-03-01')
    await button(page, 'Time: 2024-02-28 to 2024-02-29').click()
    await sound(page, 'emails-time')
    await page.getByRole('button', { name: 'Any time' }).click()
    await button(page, 'Time: Any time').waitFor()
    expect(search(page).get('q')).toBe('Order')
    expect(errors).toEqual([])
    await context.close()
  })

  test('the audit log is filtered by days in the selected time zone', async () => {
    const { page, context } = await desk({ timezoneId: 'Asia/Kolkata' })
    const asked = () => page.waitForRequest((request) => new URL(request.url()).pathname === '/audit')
    const times = (url: string) => ['since', 'until'].map((name) => new URL(url).searchParams.get(name))
    let waiting = asked()
    await page.goto(at('/settings/audit?since=2024-03-10&until=2024-03-16'))
    const local = ['2024-03-09T18:30:00.000Z', '2024-03-15T18:30:00.000Z']
    expect(times((await waiting).url())).toEqual(local)
    const href = await page.getByRole('link', { name: 'Export' }).getAttribute('href')
    expect(times(at(href ?? ''))).toEqual(local)
    waiting = asked()
    await page.getByRole('button', { name: 'Times: local' }).click()
    expect(times((await waiting).url())).toEqual(['2024-03-10T00:00:00.000Z', '2024-03-16T00:00:00.000Z'])

    await button(page, 'When: 2024-03-10 to 2024-03-15').click()
    await day(page, 'Monday, March 11, 2024').click()
    await day(page, 'Tuesday, March 12, 2024').click()
    await button(page, 'When: 2024-03-11 to 2024-03-12').waitFor()
    expect(page.url()).toBe(at('/settings/audit?since=2024-03-11&until=2024-03-13'))
    await context.close()
  })
})

test('the pickers need no inline styles: they work under a strict content security policy', async () => {
  const { page, context, errors } = await desk()
  await page.route(/\/dashboard\/[a-z]/, async (route) => {
    if (route.request().resourceType() !== 'document') return route.continue()
    const response = await route.fetch()
    const headers = response.headers()
    const policy = headers['content-security-policy'] ?? ''
    headers['content-security-policy'] = policy.replace(
      "style-src 'self' 'unsafe-inline'",
      "style-src 'self'",
    )
    return route.fulfill({ response, headers })
  })
  const opened = await page.goto(at('/emails?live=off'))
  expect(opened?.headers()['content-security-policy']).toContain("style-src 'self';")
  await button(page, 'Domain: Any domain').click()
  await page.getByRole('option', { name: 'Any domain' }).click()
  await button(page, 'Time: Any time').click()
  await page.getByRole('grid').first().waitFor()
  expect(errors).toEqual([])
  await context.close()
})
