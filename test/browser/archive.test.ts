import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, still } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the public archive as strangers see it, without scripts or cookies, and its settings in the dashboard. */

let posthaste: TestAppliance
let browser: Browser
let segment: string

const create = async (path: string, body: unknown) =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id

const HTML = `<body style="margin:0;background:#f4efe6"><div style="padding:32px;font-family:Georgia,serif">
  <h1 style="margin:0 0 16px">Readings by the sea</h1><p>Dear {{{FIRST_NAME|reader}}}, the season begins on Friday.</p>
  <p><a href="https://harbour.example/">The program</a> · <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p></div></body>`
const draft = (more: object = {}) =>
  create('/broadcasts', {
    segment_id: segment,
    from: `Harbour Books <news@${posthaste.domain}>`,
    subject: 'Readings by the sea',
    preview_text: 'Five evenings, two harbors, and soup for everybody who comes by boat.',
    html: HTML,
    ...more,
  })
const statusOf = async (id: string) =>
  (await posthaste.call<{ status: string }>('GET', `/broadcasts/${id}`)).body.status
async function sent(more: object = {}): Promise<string> {
  const id = await draft({ archive: true, send: true, ...more })
  await expect.poll(() => statusOf(id), { timeout: 30_000 }).toBe('sent')
  return id
}

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  segment = await create('/segments', { name: 'Readers' })
  await create('/forms', { name: 'Footer', from: `News <news@${posthaste.domain}>` })
  await posthaste.call('PATCH', '/unsubscribe-page', { postal_address: 'Harbour Books\n1 Quay St' })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

/** Checks all of axe's WCAG 2.2 AA rules: wide and narrow, light and dark. */
async function accessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const tags = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
  for (const width of [1440, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      await still(page)
      // The frame is an email, which isn't ours to check.
      const found = await page.evaluate<string[]>(
        `axe.run(document, { runOnly: ${tags}, iframes: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
      )
      expect(found).toEqual([])
    }
}

async function signIn(page: Page, path: string): Promise<void> {
  await page.goto(`${posthaste.url}/dashboard${path}`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('the team sets up its archive, and publishes and withdraws broadcasts in the dashboard', async () => {
  const { page, context, errors } = await openPage(browser)
  await signIn(page, '/broadcasts')
  await page.getByRole('link', { name: 'Public archive' }).click()
  await page.getByText('The archive is disabled.').waitFor()
  await sound(page, 'archive-off')
  await page.getByLabel('Description').fill('New books, and readings by the sea.')
  await page.getByLabel('Slug').fill('Harbour')
  await page.getByRole('button', { name: 'Enable archive' }).click()
  await page.getByRole('alert').filter({ hasText: 'slug' }).waitFor()
  await page.getByLabel('Slug').fill('harbour')
  await page.getByLabel('Sign-up form').selectOption('Footer')
  await page.getByRole('button', { name: 'Enable archive' }).click()
  await page.getByRole('link', { name: 'Open the archive' }).waitFor()
  expect(await posthaste.call('GET', '/archive')).toMatchObject({
    body: { status: 'enabled', slug: 'harbour', description: 'New books, and readings by the sea.' },
  })
  await sound(page, 'archive-settings')
  await page.getByLabel('Title').fill('Letters from the quay')
  await page.getByLabel('Search engines may list the pages').uncheck()
  await page.getByRole('button', { name: 'Save archive' }).click()
  await page.getByText('Archive saved.').waitFor()
  expect(await posthaste.call('GET', '/archive')).toMatchObject({
    body: { title: 'Letters from the quay', indexed: false },
  })

  const id = await draft({ subject: 'Autumn' })
  const published = async () =>
    (await posthaste.call<{ archive: boolean }>('GET', `/broadcasts/${id}`)).body.archive
  await page.goto(`${posthaste.url}/dashboard/broadcasts/${id}?tab=review`)
  await page.getByLabel('Publish in the public archive').check()
  await page.getByText('Its page opens when sending begins.').waitFor()
  await sound(page, 'archive-review')
  expect(await published()).toBe(true)
  await posthaste.call('POST', `/broadcasts/${id}/send`)
  await expect.poll(() => statusOf(id), { timeout: 30_000 }).toBe('sent')
  await page.goto(`${posthaste.url}/dashboard/broadcasts/${id}`)
  const open = page.getByRole('link', { name: 'Open its page' })
  await open.waitFor()
  await sound(page, 'archive-results')
  const url = (await open.getAttribute('href'))!
  expect(new URL(url).pathname).toBe(`/a/harbour/${id}`)
  expect((await fetch(url)).status).toBe(200)
  await page.getByLabel('Publish in the public archive').uncheck()
  await open.waitFor({ state: 'detached' })
  expect(await published()).toBe(false)
  expect((await fetch(url)).status).toBe(404)

  await page.goto(`${posthaste.url}/dashboard/broadcasts/archive`)
  await page.getByRole('link', { name: 'Disable archive' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable archive' }).click()
  await page.getByText('The archive is disabled.').waitFor()
  expect((await fetch(`${posthaste.url}/a/harbour`)).status).toBe(404)
  // Refusals are logged by the browser.
  expect(errors.filter((one) => !one.includes('422'))).toEqual([])
  await context.close()
})

test('every public page is valid and accessible in both widths and color schemes', async () => {
  await posthaste.call('PATCH', '/archive', {
    status: 'enabled',
    slug: 'quay',
    title: 'Letters from the quay',
  })
  const { page, errors } = await openPage(browser)
  await page.goto(`${posthaste.url}/a/quay`)
  await page.getByText('No emails yet.').waitFor()
  await sound(page, 'archive-empty')
  await accessible(page)
  for (let n = 1; n <= 20; n++) await sent({ subject: `Letter ${n}` })
  await sent()
  await page.goto(`${posthaste.url}/a/quay`)
  await page.getByRole('link', { name: 'Subscribe' }).waitFor()
  await sound(page, 'archive-list')
  await accessible(page)
  await page.getByRole('link', { name: 'Older' }).click()
  await page.getByRole('link', { name: 'Letter 1', exact: true }).waitFor()
  await sound(page, 'archive-older')
  await accessible(page)
  await page.getByRole('link', { name: 'Newest' }).click()
  await page.getByRole('link', { name: 'Readings by the sea' }).click()
  const email = page.frameLocator('iframe')
  await email.getByText('Dear reader, the season begins on Friday.').waitFor()
  await email.getByRole('link', { name: 'The program' }).waitFor()
  expect(await email.getByRole('link', { name: 'Unsubscribe' }).count()).toBe(0)
  await sound(page, 'archive-page')
  await accessible(page)
  await page.getByRole('link', { name: 'All emails' }).click()
  await page.getByRole('link', { name: 'Readings by the sea' }).waitFor()
  expect(errors).toEqual([])
  await page.goto(`${posthaste.url}/a/nobody`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await sound(page, 'archive-missing')
  await accessible(page)
})

test('an email can run no script, send no form and leave no frame', async () => {
  const evil = `<script>top.document.title = 'owned'</script><img src="x" onerror="top.document.title='owned'">
    <meta http-equiv="refresh" content="0;url=https://evil.example/"><form action="https://evil.example/"><button>Send</button></form>
    <a href="javascript:top.document.title='owned'">Click</a><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>`
  const id = await sent({ subject: '<b>Evil</b>', html: evil })
  const context = await browser.newContext({ locale: 'de-DE' })
  const page = await context.newPage()
  const left: string[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== posthaste.url) left.push(request.url())
  })
  await page.goto(`${posthaste.url}/a/quay/${id}`)
  await page.getByRole('heading', { name: '<b>Evil</b>' }).waitFor()
  await page.getByRole('link', { name: 'Alle E-Mails' }).waitFor()
  const email = page.frameLocator('iframe')
  await email.getByRole('button', { name: 'Send' }).click()
  await email.getByText('Click').click()
  await email.getByText('Unsubscribe').waitFor()
  expect(await page.title()).toMatch(/^<b>Evil<\/b>/)
  expect(new URL(page.url()).pathname).toBe(`/a/quay/${id}`)
  expect(left).toEqual([])
  expect(await context.cookies()).toEqual([])
  await context.close()
})
