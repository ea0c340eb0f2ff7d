import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { givePassword } from './people.ts'

/** Tests what the dashboard shows of templates besides their editor, in a real browser. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched
let page: Page

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
async function made(path: string, body: object): Promise<string> {
  const { status, body: answer } = await posthaste.call<{ id: string }>('POST', path, body)
  expect([status, answer]).toMatchObject([201, {}])
  return answer.id
}

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  page = desk.page
  await page.goto(at('/templates'))
  await givePassword(page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
  await page.getByRole('heading', { name: 'No templates yet' }).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('code that sends a template names its alias and fills in every variable', async () => {
  const id = await made('/templates', {
    name: 'Order',
    alias: 'order',
    html: '<p>{{{ITEM}}} {{{EXTRA}}}</p>',
    variables: [{ key: 'ITEM', type: 'string', fallback_value: 'Tea' }],
  })
  await page.goto(at(`/templates/${id}?tab=send`))
  await page.getByText('Publish the template before you send it').waitFor()
  await press('curl')
  const code = (text: string) => page.locator('pre', { hasText: text }).waitFor()
  for (const part of ['"id": "order"', '"ITEM": "Tea"', '"EXTRA": "[EXTRA]"', posthaste.domain])
    await code(part)
  await press('Python')
  await code('resend.Emails.send({')
  await page.getByRole('button', { name: 'Copy the example' }).waitFor()
  await press('curl')
  await posthaste.call('POST', '/templates/order/publish')
  await page.reload()
  await page.getByText('Sends the published version.').waitFor()
  expect(desk.errors).toEqual([])
})
