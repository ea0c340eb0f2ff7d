import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { picture } from './sound.ts'
import { givePassword } from './people.ts'

/** Tests the page of a segment, and uploads of contacts, in a real browser. */

let posthaste: TestAppliance
let browser: Browser
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const made = async (path: string, body: unknown) =>
  (await posthaste.call<{ id: string }>('POST', path, body)).body.id

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  page = (await openPage(browser)).page
  await page.goto(at('/audience'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('the page of a segment shows its growth and the providers of its contacts', async () => {
  const id = await made('/segments', { name: 'Readers' })
  for (const name of ['ada', 'ben', 'cy'])
    await made('/contacts', {
      email: `${name}@pages.example`,
      segments: [id],
      unsubscribed: name === 'cy',
    })
  await page.goto(at(`/audience/segments/${id}`))
  const growth = page.getByRole('region', { name: 'Growth' }).locator('p')
  await growth.filter({ hasText: 'Its growth appears here after a day.' }).waitFor()
  const providers = page.getByRole('region', { name: 'Mailbox providers' })
  await providers.getByText('How long a broadcast to 2 contacts takes').waitFor()
  await providers.getByRole('listitem').filter({ hasText: '100% Not known yet' }).waitFor()
  await picture(page, 'segment-reach')
})

test('a large upload shows its progress, can be canceled, and reports a server that does not respond', async () => {
  const network = await page.context().newCDPSession(page)
  const limit = (more: object = {}) =>
    network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: -1,
      ...more,
    })
  const dialog = page.getByRole('dialog')
  const rows = 'someone@upload.example,Someone\n'.repeat(200_000)
  const file = { name: 'large.csv', mimeType: 'text/csv', buffer: Buffer.from(`email,first_name\n${rows}`) }
  await page.goto(at('/audience/imports?new=1'))
  await limit({ uploadThroughput: 100_000 })
  await dialog.getByLabel('File', { exact: true }).setInputFiles(file)
  await dialog.getByText(/Uploading… [1-9]\d?%/).waitFor()
  await picture(page, 'import-uploading')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Import contacts' }).click()
  await limit({ offline: true })
  const small = { ...file, buffer: Buffer.from('email\nsomeone@upload.example\n') }
  await dialog.getByLabel('File', { exact: true }).setInputFiles(small)
  await dialog.getByText('The server does not respond.').waitFor()
  await limit()
  await dialog.getByLabel('File', { exact: true }).setInputFiles(small)
  await dialog.getByText('Read as UTF-8, separated by commas.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  await network.detach()
})
