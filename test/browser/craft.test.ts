import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSeeded, type Seeded } from '../world/seeded.ts'
import { settled, signIn } from './all-pages.ts'
import { launch, openPage, still } from './browser.ts'

/** Tests the dashboard as a whole: keyboard shortcuts, size, and an unreachable daemon. */

let seeded: Seeded
let browser: Browser
let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>

const at = (path: string) => `${seeded.posthaste.url}/dashboard${path}`
/** Opens a page with a session from before the tests, because an account may sign in only ten times per minute. */
const desk = async () => {
  const opened = await openPage(browser, { storageState: signedIn })
  await opened.page.goto(at('/emails'))
  await settled(opened.page)
  return opened
}
/** Opens a page with a session for this test only. */
const ownDesk = async () => {
  const opened = await openPage(browser)
  await signIn(opened.page, seeded)
  return opened
}
/** The first requests of these pages. */
const FIRST: Record<string, string> = {
  '/settings/members': '/members',
  '/settings/nodes': '/nodes',
  '/settings/retention': '/retention',
}
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.dataset.row ?? document.activeElement.tagName')

beforeAll(async () => {
  seeded = await startSeeded({ days: 1, emailsPerDay: 20 })
  browser = await launch()
  const { context } = await ownDesk()
  signedIn = await context.storageState()
  await context.close()
})
afterAll(async () => {
  await browser?.close()
  await seeded?.close()
})

/** The positions of each domain row's lines, and whether elements in it overlap. */
const LINES = `[...document.querySelectorAll('main tbody tr')].map((row) => {
  const boxes = [...row.querySelectorAll('a[data-row], .chip, .light, time')].map((one) => one.getBoundingClientRect())
  const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
  const middles = boxes.map(({ top, bottom }) => Math.round((top + bottom) / 8))
  return { lines: new Set(middles).size, over: boxes.some((a, i) => boxes.slice(i + 1).some((b) => over(a, b))) }
})`

test('on a phone a domain takes at most three lines, including its status lights', async () => {
  const { page, context } = await desk()
  await page.goto(at('/domains'))
  await settled(page)
  await page.locator('.light').first().waitFor()
  for (const width of [360, 390, 480, 560, 720]) {
    await page.setViewportSize({ width, height: 844 })
    const rows = await page.evaluate<{ lines: number; over: boolean }[]>(LINES)
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows)
      expect({ width, ...row, few: row.lines <= 3 }).toMatchObject({ over: false, few: true })
  }
  await context.close()
})

/** The lines that the cells of each row lie on: the distinct vertical centers, within a tolerance. */
const CELL_LINES = `[...document.querySelectorAll('main tbody tr')].map((row) => {
  const middles = [...row.cells].map((cell) => cell.getBoundingClientRect())
    .filter(({ width, height }) => width > 0 && height > 0).map(({ top, bottom }) => (top + bottom) / 2)
  return middles.sort((a, b) => a - b).filter((one, i) => i === 0 || one - middles[i - 1] > 8).length
})`

test.each(['/inbox', '/settings/audit'])('on a phone each row of %s takes two lines', async (path) => {
  const { page, context } = await desk()
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(at(path))
  await settled(page)
  await page.locator('main [data-row]').first().waitFor()
  expect(new Set(await page.evaluate<number[]>(CELL_LINES))).toEqual(new Set([2]))
  await context.close()
})

test('on a phone each provider takes two lines, even with custom limits', async () => {
  await seeded.posthaste.call('PATCH', '/providers/google', { connections: 3, messages_per_minute: 1000 })
  const { page, context } = await desk()
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(at('/sources?tab=providers'))
  await settled(page)
  await page.locator('main [data-row]').first().waitFor()
  expect(new Set(await page.evaluate<number[]>(CELL_LINES))).toEqual(new Set([2]))
  await page.getByRole('row', { name: 'Google' }).getByText('changed here').waitFor()
  const { x, y, width } = (await page.locator('main td.name').first().boundingBox())!
  const figure = (await page.locator('main td.figure').first().boundingBox())!
  expect([x, figure.x >= x + width, Math.abs(figure.y - y) < 8]).toEqual([16, true, true])
  await seeded.posthaste.call('PATCH', '/providers/google', { connections: null, messages_per_minute: null })
  await context.close()
})

/** How many characters fit on the last line of each ID. */
const LAST_LINE = `[...document.querySelectorAll('main .id > .mono')].map((id) => {
  const range = document.createRange()
  range.selectNodeContents(id)
  const letter = id.getBoundingClientRect().height === 0 ? 0 : parseFloat(getComputedStyle(id).fontSize) * 0.6
  return Math.round([...range.getClientRects()].at(-1).width / letter)
})`

test('an ID that wraps onto two lines has several characters on the last line', async () => {
  const { page, context } = await desk()
  await page.goto(at(`/emails/${seeded.ids.delivered}`))
  await settled(page)
  for (let width = 360; width <= 720; width += 10) {
    await page.setViewportSize({ width, height: 844 })
    const letters = await page.evaluate<number[]>(LAST_LINE)
    expect(letters).toHaveLength(2)
    expect({ width, letters, few: letters.filter((count) => count < 8) }).toMatchObject({ width, few: [] })
  }
  await context.close()
})

test('figures and times at the right of a list use tabular digits', async () => {
  const { page, context } = await desk()
  for (const path of ['/domains', '/logs', '/suppressions', '/webhooks', '/inbox']) {
    await page.goto(at(path))
    await page.locator('main td.right').last().waitFor()
    const styles = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main td.right')].map((cell) => getComputedStyle(cell).fontVariantNumeric)`,
    )
    expect([path, ...new Set(styles)]).toEqual([path, 'tabular-nums'])
  }
  await context.close()
})

describe('data that loads late', () => {
  test.each([
    ['/settings/members', '/invitations', 'What each role can do'],
    ['/settings/nodes', '/certificates', 'Check again'],
    ['/settings/retention', '/domains', 'Data erasure'],
  ])('does not shift the layout of %s: while %s is pending, “%s” is hidden', async (path, late, words) => {
    const { page, context } = await desk()
    const held = Promise.withResolvers<undefined>()
    const asked = page.waitForRequest((request) => new URL(request.url()).pathname === late)
    const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === FIRST[path])
    await page.route(
      ({ pathname }) => pathname === late,
      async (route) => {
        await held.promise
        await route.continue()
      },
    )
    await page.goto(at(path))
    await asked
    await answered
    await still(page)
    expect(await page.getByText(words).count()).toBe(0)
    held.resolve(undefined)
    await page.getByText(words, { exact: true }).waitFor()
    await context.close()
  })
})

describe('keyboard shortcuts', () => {
  const lists = ['/domains', '/webhooks', '/logs', '/api-keys', '/suppressions', '/inbox', '/emails']

  test('j, k, Enter and Esc work on every list, and the focus returns to the row', async () => {
    const { page, context } = await desk()
    for (const path of lists) {
      await page.goto(at(path))
      await settled(page)
      await page.locator('main [data-row]').first().waitFor()
      await page.keyboard.press('j')
      const first = await focused(page)
      const row = await page.locator('main [data-row]').first().getAttribute('data-row')
      expect([path, first]).toEqual([path, row])
      await page.keyboard.press('Enter')
      await expect.poll(() => page.url()).not.toBe(at(path))
      await page.locator('h1, dialog').first().waitFor()
      await page.keyboard.press('Escape')
      await expect.poll(() => [path, page.url()]).toEqual([path, at(path)])
      await expect.poll(async () => [path, await focused(page)]).toEqual([path, row])
    }
    await context.close()
  })

  test('? lists the shortcuts, / focuses the search, and the first Tab skips the menu', async () => {
    const { page, context } = await desk()
    await page.goto(at('/suppressions'))
    await settled(page)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toBe('MAIN')
    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await keys.waitFor()
    const gaps = await page.evaluate<number[]>(
      `[...document.querySelectorAll('dialog[open] dt')].map((key) =>
        key.nextElementSibling.getBoundingClientRect().left -
        Math.max(...[...key.children].map((one) => one.getBoundingClientRect().right)))`,
    )
    expect(Math.min(...gaps)).toBeGreaterThan(0)
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('MAIN')
    await page.keyboard.press('/')
    await expect.poll(() => focused(page)).toBe('INPUT')
    await page.keyboard.type('ada')
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).not.toBe('INPUT')
    await page.keyboard.press('?')
    await keys.waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('searchbox').first().inputValue()).toBe('ada')
    await context.close()
  })
})

describe('the command palette', () => {
  const choose = async (page: Page, words: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox').fill(words)
    await page.keyboard.press('Enter')
  }

  test('opens settings tabs and the account, and changes the theme and the time zone', async () => {
    const { page, context } = await ownDesk()
    await page.goto(at('/domains'))
    await settled(page)
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    await choose(page, 'theme: dark')
    await expect.poll(theme).toBe('dark')
    await choose(page, 'theme: system')
    await expect.poll(theme).toBeUndefined()
    await choose(page, 'utc')
    await page.getByRole('button', { name: 'Times: UTC' }).waitFor()
    await choose(page, 'audit')
    await expect.poll(() => page.url()).toBe(at('/settings/audit'))
    await choose(page, 'your account')
    await expect.poll(() => page.url()).toBe(at('/account'))
    await page.getByRole('link', { name: 'Domains', exact: true }).focus()
    await choose(page, 'keyboard')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('A')
    await choose(page, 'sign out')
    await page.getByLabel('Email address').waitFor()
    await context.close()
  })

  test('the command palette scrolls to the selected option, even at the end of the list', async () => {
    const { page, context } = await desk()
    await page.setViewportSize({ width: 1280, height: 600 })
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Go to' })
    await palette.getByRole('combobox').press('ArrowUp')
    const list = (await palette.getByRole('listbox').boundingBox())!
    const last = (await palette.getByRole('option', { name: 'Sign out', selected: true }).boundingBox())!
    expect(last.y).toBeGreaterThanOrEqual(list.y)
    expect(last.y + last.height).toBeLessThanOrEqual(list.y + list.height)
    await context.close()
  })
})

test('the headers of a message use the full width of a phone', async () => {
  const { page, context } = await desk()
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(at(`/inbox/${seeded.ids.inbox}?tab=headers`))
  await page.getByText('DMARC for').first().waitFor()
  const row = page.getByRole('row').filter({ hasText: 'DKIM-Signature' }).first()
  expect((await row.boundingBox())!.width).toBeGreaterThan(340)
  await expect.poll(() => page.getByText(/It covers the body and /).count()).toBe(2)
  await context.close()
})

describe('the server', () => {
  /** Maximum size of the first load's scripts and style sheets, compressed, in bytes. */
  const BUDGET = 150_000

  test('the server sends a first page within the size budget, compressed', async () => {
    const { page, context } = await openPage(browser)
    const cdp = await context.newCDPSession(page)
    await cdp.send('Network.enable')
    const files = new Map<string, number>()
    cdp.on('Network.responseReceived', ({ response: { url, headers } }) => {
      if (url.includes('/assets/')) files.set(url, Number(headers['content-length']))
    })
    await signIn(page, seeded)
    await page.locator('main [data-row]').first().waitFor()
    const bytes = [...files.values()].reduce((sum, one) => sum + one, 0)
    expect({ files, enough: bytes < BUDGET }).toEqual({ files, enough: true })
    expect(bytes).toBeGreaterThan(10_000)
    expect([...files.keys()].filter((url) => url.includes('DocumentEditor'))).toEqual([])
    await context.close()
  })

  test('an unresponsive server shows an error and a retry button on the page that needs it', async () => {
    const { page, context } = await desk()
    const silent = (url: URL) => url.pathname === '/domains'
    await page.route(silent, (route) => route.abort('connectionrefused'))
    await page.goto(at('/domains'))
    const alert = page.getByRole('alert')
    await alert.getByText('Couldn’t load the domains.').waitFor()
    await alert.getByText(/The server does not respond\. .*No data was lost\./).waitFor()
    await page.unroute(silent)
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.locator('main [data-row]').first().waitFor()
    await context.close()
  })

  test('an unresponsive server leaves the outcome of a change unknown: the message says so, and the input is kept', async () => {
    const { page, context } = await desk()
    await page.goto(at('/api-keys?new=1'))
    await page.getByLabel('Name').fill('Back office')
    await page.route('**/api-keys', (route) => route.abort('connectionrefused'))
    await page.getByRole('button', { name: 'Create key', exact: true }).click()
    const alert = page.getByRole('dialog').getByRole('alert')
    await alert.getByText('The change may or may not have been made. Check before you try again.').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Back office')
    await context.close()
  })

  test('an unresponsive server fails a preview with an error that does not suggest a change', async () => {
    const { page, context } = await desk()
    await page.route('**/queue/preview', (route) => route.abort('connectionrefused'))
    await page.goto(at('/queue?do=retry'))
    const alert = page.getByRole('dialog').getByRole('alert').locator('p')
    await expect
      .poll(() => alert.innerText())
      .toBe(
        'Couldn’t preview this. The server does not respond. ' +
          'Check that it is running and that this browser can reach it. No data was lost.',
      )
    await context.close()
  })

  test('when the server rejects the cookie once, the request is repeated and the user stays signed in', async () => {
    const { page, context } = await desk()
    let asked = 0
    await page.route(
      (url) => url.pathname === '/domains',
      (route) => (++asked === 1 ? route.fulfill({ status: 401, json: {} }) : route.fallback()),
    )
    await page.goto(at('/domains'))
    await page.locator('main [data-row]').first().waitFor()
    expect({ asked, at: page.url() }).toEqual({ asked: 2, at: at('/domains') })
    await context.close()
  })

  test('when the server returns errors, each part of a page shows a message and no guessed values', async () => {
    const { page, context } = await desk()
    const failing = ({ pathname }: URL) => !/^\/(dashboard|session)/.test(pathname)
    await page.route(failing, (route) => route.fulfill({ status: 500, json: { message: 'It broke.' } }))
    const failures = async () => {
      await page.getByRole('alert').first().waitFor()
      const said = await page.getByRole('alert').locator('strong').allInnerTexts()
      return said.toSorted()
    }
    await page.goto(at('/queue'))
    await expect
      .poll(failures)
      .toEqual([
        'Couldn’t load recent activity.',
        'Couldn’t load the destinations.',
        'Couldn’t load the hold rules.',
        'Couldn’t load the queue size.',
        'Couldn’t load the queue.',
      ])
    await page.goto(at('/sources?tab=pools'))
    await expect.poll(failures).toEqual(['Couldn’t load the assignments.', 'Couldn’t load the pools.'])
    expect(await page.getByText('no IPs').count()).toBe(0)
    await page.unroute(failing)
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await page.getByText('Chosen by the system').waitFor()
    await context.close()
  })

  test('shows a message with a retry button if a server update removed the script of a page', async () => {
    const { page, context } = await openPage(browser)
    await page.route(/\/assets\/Domains-.*\.js$/, (route) => route.fulfill({ status: 404 }))
    await signIn(page, seeded)
    await page.getByRole('link', { name: 'Domains', exact: true }).click()
    await page.getByText('Couldn’t load this page.').waitFor()
    await page.unroute(/\/assets\/Domains-.*\.js$/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await context.close()
  })
})

test('a collapsed menu stays collapsed after a reload, and still shows the server status and version', async () => {
  const { page, context } = await desk()
  const rail = page.getByRole('complementary')
  await rail.getByRole('button', { name: 'Collapse menu' }).click()
  await page.reload()
  await rail.getByRole('button', { name: 'Expand menu' }).waitFor()
  await rail.getByText('The server accepts mail.').waitFor()
  await rail.getByTitle(/^Posthaste \d/).waitFor()
  await context.close()
})
