import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver } from '../world/receiver.ts'
import { launch, openPage, sidewaysScroll } from './browser.ts'
import { sound } from './sound.ts'

/** Tests the webhook form, and the list on a phone. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance({
    config: { webhooks: { allow_networks: ['127.0.0.0/8'], retention_days: 30 } },
  })
  browser = await launch()
  page = (await openPage(browser)).page
  await page.goto(at('/webhooks'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('No webhooks yet').waitFor()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

interface Made {
  id: string
  events: string[]
  broadcasts: boolean
}
const focused = () => page.evaluate<string>('document.activeElement.name')

test.each([1280, 390])('at %i px an error is shown beside its field, which gets the focus', async (width) => {
  await page.setViewportSize({ width, height: 844 })
  await page.goto(at('/webhooks?new=1'))
  const dialog = page.getByRole('dialog', { name: 'Add webhook' })
  const endpoint = dialog.getByLabel('Endpoint')
  const submit = dialog.getByRole('button', { name: 'Add webhook' })
  const alerts = () => dialog.getByRole('alert').allInnerTexts()
  /** Checks that the error is shown between the field and what follows it. */
  const beside = async (words: string) => {
    const error = dialog.getByRole('alert').filter({ hasText: words })
    await error.waitFor()
    const [field, told, events] = [
      (await endpoint.boundingBox())!,
      (await error.boundingBox())!,
      (await dialog.getByRole('group', { name: 'Email events' }).boundingBox())!,
    ]
    expect(told.y).toBeGreaterThanOrEqual(field.y + field.height)
    expect(told.y + told.height).toBeLessThan(events.y)
    expect(told.y - field.y - field.height).toBeLessThan(16)
    expect(told.y).toBeGreaterThanOrEqual(0)
    expect(told.y + told.height).toBeLessThanOrEqual(844)
    await expect.poll(focused).toBe('endpoint')
    expect(await endpoint.getAttribute('aria-invalid')).toBe('true')
    const id = await error.getAttribute('id')
    expect(await endpoint.getAttribute('aria-describedby')).toContain(id)
  }

  await submit.click()
  await beside('Enter the endpoint URL.')
  await endpoint.fill('app.example.com')
  await expect.poll(async () => (await alerts()).join('')).toBe('')
  await submit.click()
  await beside('Enter a full URL, such as https://app.example.com/webhooks.')
  // Errors that only the server can find are shown in the same place.
  await endpoint.fill('https://10.0.0.1/hook')
  await submit.click()
  await beside('Enter a URL on a host with a public address, or in webhooks.allow_networks.')
  await sound(page, `webhook-refused-${width}`)
  await page.setViewportSize({ width, height: 844 })

  await endpoint.fill('https://app.example.com/hook')
  for (const noun of ['email', 'domain', 'suppression', 'contact', 'topic', 'alert'])
    await dialog.getByLabel(`All ${noun} events`).uncheck()
  await dialog.getByText('0 of 24 selected').waitFor()
  await submit.click()
  await dialog.getByText('Select at least one event.').waitFor()
  await expect.poll(focused).toBe('events')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

test('selects webhook events by group, and a partly selected group is shown as indeterminate', async () => {
  await page.setViewportSize({ width: 1280, height: 844 })
  await page.goto(at('/webhooks?new=1'))
  const dialog = page.getByRole('dialog', { name: 'Add webhook' })
  const all = dialog.getByLabel('All email events')
  const partly = () =>
    all.evaluate((element: unknown) => (element as { indeterminate: boolean }).indeterminate)
  expect([await all.isChecked(), await partly()]).toEqual([true, false])
  await dialog.getByLabel('email.opened').uncheck()
  expect([await all.isChecked(), await partly()]).toEqual([false, true])
  await dialog.getByText('23 of 24 selected').waitFor()
  await all.click()
  await dialog.getByText('24 of 24 selected').waitFor()
  await all.click()
  await dialog.getByText('14 of 24 selected').waitFor()
  for (const noun of ['domain', 'contact', 'topic', 'alert'])
    await dialog.getByLabel(`All ${noun} events`).click()
  await dialog.getByLabel('email.bounced').check()
  await dialog.getByLabel('Endpoint').fill('https://app.example.com/groups')
  await dialog.getByLabel('Events of broadcasts').uncheck()
  await dialog.getByRole('button', { name: 'Add webhook' }).click()
  await page.getByRole('heading', { name: 'https://app.example.com/groups' }).waitFor()
  const { body } = await posthaste.call<{ data: Made[] }>('GET', '/webhooks')
  expect(body.data[0]!.events.toSorted()).toEqual([
    'email.bounced',
    'suppression.added',
    'suppression.removed',
  ])
  expect(body.data[0]!.broadcasts).toBe(false)
  await page.getByText('No events of their emails are sent').waitFor()
  await page.getByRole('link', { name: 'Edit webhook' }).click()
  await page.getByLabel('Events of broadcasts').check()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('No events of their emails are sent').waitFor({ state: 'detached' })
  await posthaste.call('DELETE', `/webhooks/${body.data[0]!.id}`)
})

test('a webhook with a third of its deliveries failing is not healthy, and on a phone its URL has its own line', async () => {
  const receiver = await startReceiver()
  const endpoint = `${receiver.url}/${'a-rather-long-path/'.repeat(8)}`
  const events = ['email.delivered']
  const { body } = await posthaste.call<{ id: string }>('POST', '/webhooks', { endpoint, events })
  for (const fails of [false, true, false]) {
    receiver.behave(fails ? (_, response) => response.writeHead(500).end() : undefined)
    await posthaste.call('POST', `/webhooks/${body.id}/ping`)
  }
  await page.goto(at('/webhooks'))
  await page.getByRole('row', { name: endpoint }).getByText('failing 33%').waitFor()
  await page.goto(at(`/webhooks/${body.id}`))
  await page.getByText('failing 33%').waitFor()

  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 })
    await page.goto(at('/webhooks'))
    const link = page.getByRole('link', { name: endpoint })
    await link.waitFor()
    const row = page.getByRole('row', { name: endpoint })
    const name = (await row.locator('td.name').boundingBox())!
    const chip = (await row.locator('.chip').boundingBox())!
    const share = (await row.locator('td.share').boundingBox())!
    expect(chip.y).toBeGreaterThanOrEqual(name.y + name.height)
    expect(name.x + name.width).toBeLessThanOrEqual(width)
    expect(share.x).toBeGreaterThanOrEqual(chip.x + chip.width)
    expect(await sidewaysScroll(page)).toBe(0)
  }
  await sound(page, 'webhooks-failing')
  await receiver.close()
})
