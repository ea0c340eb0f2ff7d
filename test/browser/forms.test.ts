import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFormTokens, type FormTokens } from '../../appliance/forms/forms.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createTestClock } from '../world/clock.ts'
import { launch, openPage, still } from './browser.ts'
import { sound } from './sound.ts'

/** Tests sign-up forms as people see them, without scripts or cookies, and their pages in the dashboard. */

const clock = createTestClock()
let posthaste: TestAppliance
let browser: Browser
let tokens: FormTokens

interface Made {
  id: string
  submitted: number
  confirmed: number
  [name: string]: unknown
}

const create = async (path: string, body: unknown) => (await posthaste.call<Made>('POST', path, body)).body
const formWith = (more: object) =>
  create('/forms', { name: 'Newsletter', from: `News <news@${posthaste.domain}>`, ...more })

beforeAll(async () => {
  posthaste = await startAppliance({ clock })
  browser = await launch()
  const { storage } = posthaste.appliance
  tokens = createFormTokens(await storage.secret({ name: 'forms', fresh: Buffer.alloc(32) }, 0))
  await create('/contact-properties', { key: 'company', type: 'string' })
  await create('/topics', { name: 'Product updates', default_subscription: 'opt_out' })
  await create('/segments', { name: 'Readers' })
  await posthaste.call('PATCH', '/unsubscribe-page', { postal_address: 'Sender Inc.\n1 Main St' })
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
      const found = await page.evaluate<string[]>(
        `axe.run(document, { runOnly: ${tags} }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].html))`,
      )
      expect(found).toEqual([])
    }
}

/** Sends the form, later than a program would. */
async function send(page: Page, button: string): Promise<void> {
  await clock.advance(3000)
  await page.getByRole('button', { name: button }).click()
}

/** Returns the confirmation page of the sign-up of an address. */
async function confirmationOf(email: string): Promise<string> {
  const { storage } = posthaste.appliance
  const { items } = await storage.listEmails({ teamId: posthaste.teamId, limit: 100 }, clock.now())
  const mail = items.find(({ to }) => to.includes(email))!
  const message = Buffer.from((await storage.getMessage({ emailId: mail.id }, clock.now()))!).toString('utf8')
  const token = /\/f\/confirm\/([\w-]{43})/.exec(message.replaceAll('=\r\n', ''))![1]!
  expect(tokens.signupOf(token)).toBeDefined()
  return `${posthaste.url}/f/confirm/${token}`
}

const mailed = (email: string) =>
  expect
    .poll(
      async () => {
        const { storage } = posthaste.appliance
        const { items } = await storage.listEmails({ teamId: posthaste.teamId, limit: 100 }, clock.now())
        return items.some(({ to }) => to.includes(email))
      },
      { timeout: 30_000 },
    )
    .toBe(true)

test('every page of a form is valid and accessible in both widths and color schemes', async () => {
  const fields = [
    { name: 'first_name', required: true },
    { name: 'company', required: false },
  ]
  const words = {
    en: { consent: 'I agree to get the newsletter about twice a month.', labels: { company: 'Company' } },
  }
  const form = await formWith({ fields, words })
  const { page, errors } = await openPage(browser)
  const look = async (name: string) => {
    await sound(page, name)
    await accessible(page)
  }
  await page.goto(`${posthaste.url}/f/${form.id}`)
  await page.getByRole('heading', { name: 'Subscribe' }).waitFor()
  await look('sign-up-form')
  await page.getByLabel('Email address').fill('look@reader.example')
  await page.getByLabel('First name').fill('Ada')
  await send(page, 'Subscribe')
  await page.getByRole('heading', { name: 'Check your mailbox' }).waitFor()
  await look('sign-up-sent')
  await mailed('look@reader.example')
  await page.goto(await confirmationOf('look@reader.example'))
  await page.getByText('l•••@reader.example').waitFor()
  await look('sign-up-confirm')
  await page.getByRole('button', { name: 'Yes, subscribe me' }).click()
  await page.getByRole('heading', { name: 'You’re subscribed' }).waitFor()
  await look('sign-up-done')
  await page.goto(await confirmationOf('look@reader.example'))
  await page.getByRole('heading', { name: 'This link doesn’t work anymore' }).waitFor()
  await look('sign-up-used')
  // The page's policy allows its styles and forms. The last page is gone.
  expect(errors.filter((one) => !one.includes('410'))).toEqual([])
})

test('a visitor signs up in German and confirms without scripts or cookies', async () => {
  const words = { de: { title: 'Rundbrief', labels: { company: 'Firma' } } }
  const fields = [{ name: 'company', required: false }]
  const form = await formWith({ languages: ['en', 'de'], words, fields })
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'de-DE' })
  const page = await context.newPage()
  await page.goto(`${posthaste.url}/f/${form.id}`)
  await page.getByRole('heading', { name: 'Rundbrief' }).waitFor()
  await page.getByLabel('E-Mail-Adresse').fill('grete@reader.example')
  await page.getByLabel('Firma').fill('Hafen & Söhne')
  await send(page, 'Anmelden')
  await page.getByRole('heading', { name: 'Schauen Sie in Ihr Postfach' }).waitFor()
  await mailed('grete@reader.example')
  await page.goto(await confirmationOf('grete@reader.example'))
  await page.getByRole('button', { name: 'Ja, anmelden' }).click()
  await page.getByRole('heading', { name: 'Sie sind angemeldet' }).waitFor()
  expect(await context.cookies()).toEqual([])
  const contact = await posthaste.call('GET', '/contacts/grete@reader.example')
  expect(contact.body).toMatchObject({ properties: { company: { value: 'Hafen & Söhne' } } })
  expect((await posthaste.call<Made>('GET', `/forms/${form.id}`)).body.confirmed).toBe(1)
  await context.close()
})

test('creates, edits with a preview, disables and deletes a form in the dashboard', async () => {
  const { page, context, errors } = await openPage(browser)
  await page.goto(`${posthaste.url}/dashboard/audience/forms`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('link', { name: 'Newsletter' }).first().waitFor()
  await page.getByRole('link', { name: 'Create form' }).click()
  await page.getByLabel('Name').fill('Footer of the website')
  await page.getByLabel('From').fill('Somebody <news@elsewhere.example>')
  await page.getByRole('button', { name: 'Create form' }).click()
  await page.getByRole('alert').filter({ hasText: 'elsewhere.example' }).waitFor()
  await page.getByLabel('From').fill(`Acme <news@${posthaste.domain}>`)
  await page.getByRole('button', { name: 'Create form' }).click()
  await page.getByRole('heading', { name: 'Footer of the website' }).waitFor()
  const preview = page.frameLocator('iframe')
  await preview.getByRole('heading', { name: 'Subscribe' }).waitFor()

  await page.getByLabel('company').selectOption('required')
  await preview.getByLabel('company').waitFor()
  await page.getByLabel('Product updates').check()
  await page.getByLabel('Readers').check()
  await page.getByRole('link', { name: 'Texts' }).click()
  await page.getByLabel('Title', { exact: true }).fill('Our letter')
  await preview.getByRole('heading', { name: 'Our letter' }).waitFor()
  await page.getByLabel('Label of company').fill('Your firm')
  await preview.getByLabel('Your firm').waitFor()
  await page.getByLabel('German').check()
  await page.getByLabel('Texts in').selectOption('de')
  await preview.getByRole('heading', { name: 'Anmelden' }).waitFor()
  await page.getByRole('button', { name: 'Confirmation', exact: true }).click()
  await preview.getByRole('button', { name: 'Ja, anmelden' }).waitFor()
  await page.getByRole('link', { name: 'Website' }).click()
  await page.getByText('method="post"').waitFor()
  await page.getByLabel('Allowed sites').fill('https://acme.example/page')
  await page.getByRole('button', { name: 'Save form' }).click()
  await page.getByRole('alert').filter({ hasText: 'allowed_origins' }).waitFor()
  await page.getByLabel('Allowed sites').fill('https://acme.example')
  await page.getByRole('button', { name: 'Save form' }).click()
  await page.getByText('Form saved.').waitFor()
  await sound(page, 'form-website')

  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const { body } = await posthaste.call<Made>('GET', `/forms/${id}`)
  expect(body).toMatchObject({
    languages: ['en', 'de'],
    fields: [{ name: 'company', required: true }],
    words: { en: { title: 'Our letter', labels: { company: 'Your firm' } } },
    allowed_origins: ['https://acme.example'],
  })
  expect(body.topic_ids).toHaveLength(1)
  expect(body.segment_ids).toHaveLength(1)
  await page.getByRole('button', { name: 'Disable form' }).click()
  await page.getByRole('button', { name: 'Enable form' }).waitFor()
  await page.getByRole('link', { name: 'Delete form' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete form' }).click()
  await page.getByText('Form deleted. Its contacts stay.').waitFor()
  expect((await posthaste.call('GET', `/forms/${id}`)).status).toBe(404)
  // Refusals are logged by the browser.
  expect(errors.filter((one) => !/40[34]|422/.test(one))).toEqual([])
  await context.close()
})
