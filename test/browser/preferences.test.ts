import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPreferencesTokens, type PreferencesTokens } from '../../appliance/audience/audience.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, still } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the preference page as people see it, without scripts or cookies, and its settings in the dashboard. */

let posthaste: TestAppliance
let browser: Browser
let tokens: PreferencesTokens
let topic: string

const create = async (path: string, body: unknown): Promise<string> =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  const { storage } = posthaste.appliance
  tokens = createPreferencesTokens(await storage.secret({ name: 'preferences', fresh: Buffer.alloc(32) }, 0))
  const about = { default_subscription: 'opt_in', visibility: 'public' }
  await create('/topics', { ...about, name: 'Events', description: 'Where to meet us, a few times a year.' })
  topic = await create('/topics', { ...about, name: 'Product updates' })
  await posthaste.call('PATCH', '/unsubscribe-page', {
    postal_address: 'Sender Inc.\n1 Main St\nSpringfield',
  })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

async function contactWithLink(email: string, topicId: string | null) {
  const contactId = await create('/contacts', { email })
  const token = tokens.sign({ teamId: posthaste.teamId, contactId, address: email, topicId, sourceId: null })
  const unsubscribed = async () =>
    (await posthaste.call<{ unsubscribed: boolean }>('GET', `/contacts/${contactId}`)).body.unsubscribed
  const topics = async () => {
    const path = `/contacts/${contactId}/topics`
    const { data } = (await posthaste.call<{ data: { name: string; subscription: string }[] }>('GET', path))
      .body
    return Object.fromEntries(data.map(({ name, subscription }) => [name, subscription]))
  }
  return { url: `${posthaste.url}/u/${token}`, unsubscribed, topics }
}

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

test('every state of the page is valid and accessible in both widths and color schemes', async () => {
  const { page, errors } = await openPage(browser)
  const { url } = await contactWithLink('states@customer.example', topic)
  const plain = await contactWithLink('plain@customer.example', null)
  const look = async (name: string) => {
    await sound(page, name)
    await accessible(page)
  }
  await page.goto(url)
  await look('preferences-topic')
  await page.getByRole('button', { name: 'Unsubscribe from Product updates' }).click()
  await page.getByText('Unsubscribed by mistake?').waitFor()
  await look('preferences-left')
  await page.goto(plain.url)
  await look('preferences-newsletter')
  await page.getByRole('button', { name: 'Unsubscribe from everything' }).click()
  await page.getByRole('heading', { name: 'You’re unsubscribed' }).waitFor()
  await look('preferences-out')
  await page.goto(`${posthaste.url}/u/${'A'.repeat(130)}`)
  await look('preferences-missing')
  const german = await openPage(browser, { locale: 'de-DE' })
  await german.page.goto((await contactWithLink('german@customer.example', topic)).url)
  await german.page.getByRole('button', { name: 'Product updates abbestellen' }).waitFor()
  await sound(german.page, 'preferences-topic-de')
  await german.page.getByRole('button', { name: 'Product updates abbestellen' }).click()
  await german.page.getByText('Sie haben Product updates abbestellt.').waitFor()
  await sound(german.page, 'preferences-left-de')
  await german.context.close()
  // The page's policy allows its styles and forms.
  expect(errors).toEqual([])
})

test('a contact chooses topics, unsubscribes and subscribes again without scripts or cookies', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'de-DE' })
  const page = await context.newPage()
  const { url, unsubscribed, topics } = await contactWithLink('person@customer.example', topic)
  await page.goto(url)
  await page.getByRole('heading', { name: 'Product updates abbestellen?' }).waitFor()
  await page.getByText('p•••@customer.example').waitFor()

  await page.getByRole('checkbox', { name: /^Events/ }).uncheck()
  await page.getByRole('button', { name: 'Auswahl speichern' }).click()
  await page.getByText('Ihre Auswahl ist gespeichert.').waitFor()
  expect(await topics()).toEqual({ Events: 'opt_out', 'Product updates': 'opt_in' })

  await page.getByRole('button', { name: 'Product updates abbestellen' }).click()
  await page.getByText('Sie haben Product updates abbestellt.').waitFor()
  expect(await topics()).toEqual({ Events: 'opt_out', 'Product updates': 'opt_out' })
  await page.getByRole('button', { name: 'Wieder anmelden' }).click()
  await page.getByText('Ihre Auswahl ist gespeichert.').waitFor()
  expect(await topics()).toEqual({ Events: 'opt_out', 'Product updates': 'opt_in' })

  await page.getByRole('button', { name: 'Alles abbestellen' }).click()
  await page.getByRole('heading', { name: 'Sie sind abgemeldet' }).waitFor()
  expect(await unsubscribed()).toBe(true)
  await page.getByRole('button', { name: 'Wieder anmelden' }).click()
  await page.getByText('Sie sind wieder angemeldet.').waitFor()
  expect(await unsubscribed()).toBe(false)
  expect(await context.cookies()).toEqual([])
  await context.close()
})

test('the dashboard edits the page with a preview, and checks the contrast of its colors', async () => {
  const { page, context, errors } = await openPage(browser)
  await page.goto(`${posthaste.url}/dashboard/settings/unsubscribe`)
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  const preview = page.frameLocator('iframe')
  await preview.getByRole('heading', { name: 'Email preferences' }).waitFor()
  await sound(page, 'settings-unsubscribe')

  await page.getByLabel('Title').fill('Leaving us?')
  await preview.getByRole('heading', { name: 'Leaving us?' }).waitFor()
  await page.getByRole('button', { name: 'From topic' }).click()
  await preview.getByRole('button', { name: 'Unsubscribe from Product updates' }).waitFor()
  await page.getByRole('button', { name: 'Already out' }).click()
  await preview.getByRole('heading', { name: 'You’re unsubscribed' }).waitFor()
  await page.getByRole('button', { name: 'Dark', exact: true }).click()
  await expect
    .poll(() => preview.locator('body').evaluate('getComputedStyle(document.body).backgroundColor'))
    .toBe('rgb(23, 24, 27)')
  await page.getByRole('combobox', { name: 'Language', exact: true }).selectOption('fr')
  await preview.getByRole('heading', { name: 'Vous êtes désabonné(e)' }).waitFor()

  await page.getByLabel('Accent').fill('#ffee00')
  await page.getByText('Contrast to the background is 1.2:1. It must be at least 3:1.').waitFor()
  await page.getByRole('button', { name: 'Save page' }).click()
  await page.getByText('Invalid `accent_color` field').waitFor()
  await page.getByLabel('Accent').fill('#b3261e')
  await page.getByText('Contrast to the background: 6.5:1').waitFor()
  await page.getByRole('button', { name: 'Save page' }).click()
  await page.getByText('Unsubscribe page saved.').waitFor()
  const { body } = await posthaste.call('GET', '/unsubscribe-page')
  expect(body).toMatchObject({
    words: { en: { title: 'Leaving us?', text: null } },
    accent_color: '#b3261e',
    postal_address: 'Sender Inc.\n1 Main St\nSpringfield',
  })
  expect(errors).toEqual([])
  await context.close()
})
