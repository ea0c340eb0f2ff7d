import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { QueueLane, QueueSummary } from '../../appliance/api/queue.ts'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { seedQueue } from '../world/seeded-queue.ts'
import { launch, openPage } from './browser.ts'
import { sound } from './sound.ts'

/**
 * Tests an operator's work in an incident: a queue with mixed reasons, selection, the command palette, keyboard
 * shortcuts, the health dot.
 */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let errors: string[]
let count: number

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const get = async <T>(path: string) => (await posthaste.call<T>('GET', path)).body
const recipients = async (query: string) =>
  (await get<{ data: { recipient: string }[] }>(`/queue?limit=100&${query}`)).data.map(
    ({ recipient }) => recipient,
  )

beforeAll(async () => {
  posthaste = await startAppliance()
  ;({ count } = await seedQueue(posthaste))
  browser = await launch()
  ;({ page, errors } = await openPage(browser))
  await page.goto(at('/queue'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

describe('a queue with several reasons', () => {
  test('the queue has a row for every backlog, and the row counts add up to the total', async () => {
    const [{ data }, summary] = await Promise.all([
      get<{ data: QueueLane[] }>('/queue/lanes'),
      get<QueueSummary>('/queue/summary'),
    ])
    expect([data.reduce((sum, row) => sum + row.count, 0), summary.count]).toEqual([count, count])
    await page.goto(at('/queue?lanes=all'))
    const region = page.getByRole('region', { name: 'Destinations' })
    await region.waitFor()
    const shown = await region.locator('td.count').allInnerTexts()
    expect(shown.reduce((sum, text) => sum + Number.parseInt(text, 10), 0)).toBe(count)
    const states = await region
      .locator('tbody tr', { hasNotText: 'idle' })
      .locator('td.state')
      .allInnerTexts()
    expect([...new Set(states.map((word) => word.trim()))].sort()).toEqual([
      'held',
      'no route',
      'paused',
      'scheduled',
      'waiting to retry',
    ])
  })

  test('shows each queue reason on one line without doubled punctuation, and the reply on request', async () => {
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(at('/queue'))
    const row = page.getByRole('row', { name: /full@bigmail\.example/ })
    await row.waitFor()
    const lines = await page.locator('td.why').allInnerTexts()
    for (const line of lines) expect(line).not.toMatch(/\.\.|\)\.\)|\.\)|\(\(|\bUTC\b|\n/)
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll('main table.list:not(section *) tbody tr')].map((row) => row.offsetHeight)`,
    )
    expect(Math.max(...heights)).toBeLessThanOrEqual(44)
    await row.getByRole('link').click()
    const panel = page.getByRole('region', { name: 'Selected delivery' })
    await panel.getByRole('heading', { name: 'full@bigmail.example' }).waitFor()
    await panel.getByText('452 4.2.2').waitFor()
    // While a row is selected, the list doesn't change: a retry doesn't reorder the rows.
    const box = page.getByRole('checkbox', { name: 'Select full@bigmail.example' })
    await box.check()
    await page.getByRole('group', { name: 'Selection' }).waitFor()
    await row.getByRole('link').focus()
    await page.keyboard.press('j')
    await panel.getByRole('heading', { name: 'full@bigmail.example' }).waitFor({ state: 'detached' })
    await panel.getByRole('heading').waitFor()
    await page.keyboard.press('k')
    await panel.getByRole('heading', { name: 'full@bigmail.example' }).waitFor()
    await box.uncheck()
    await sound(page, 'queue-mixed')
    await page.setViewportSize({ width: 1440, height: 900 })
    // After `sound`, the page is narrow and shows no panel next to the list. Escape closes the panel only when it is
    // back.
    await panel.getByRole('heading').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('selects queued deliveries with checkboxes, in ranges with Shift, and holds them', async () => {
    await page.goto(at('/queue?domain=paused.example'))
    const box = (n: number) => page.getByRole('checkbox', { name: `Select reader${n}@paused.example` })
    await box(2).check()
    await box(5).click({ modifiers: ['Shift'] })
    const bar = page.getByRole('group', { name: 'Selection' })
    await bar.getByText('4 deliveries selected').waitFor()
    await sound(page, 'queue-selected')
    await bar.getByRole('link', { name: 'Hold…' }).click()
    await page.getByRole('button', { name: 'Hold: 4 deliveries' }).click()
    await page.getByText('4 deliveries are held.').waitFor()
    await expect.poll(() => bar.count()).toBe(0)
    expect(await recipients('domain=paused.example&state=held')).toEqual(
      [2, 3, 4, 5].map((n) => `reader${n}@paused.example`),
    )
    await page.getByRole('button', { name: 'Undo', exact: true }).first().click()
    await page.getByText('Undone: 4 deliveries.').waitFor()
  })

  test('selects queued deliveries with the keyboard, and all matching deliveries at once', async () => {
    await page.goto(at('/queue?domain=paused.example'))
    await page.getByRole('checkbox', { name: 'Select reader0@paused.example' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+X')
    const bar = page.getByRole('group', { name: 'Selection' })
    await bar.getByText('3 deliveries selected').waitFor()
    await bar.getByRole('button', { name: 'Select all 9 matching' }).click()
    await bar.getByText('9 deliveries selected').waitFor()
    await bar.getByRole('link', { name: 'Hold…' }).click()
    await page.getByRole('button', { name: 'Hold: 9 deliveries' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.keyboard.press('Escape')
    await expect.poll(() => bar.count()).toBe(0)
    expect(await recipients('domain=paused.example&state=held')).toEqual([])
  })

  test('dropping the whole queue requires typing a confirmation', async () => {
    await page.goto(at('/queue?do=drop'))
    const dialog = page.getByRole('dialog')
    const drop = dialog.getByRole('button', { name: `Drop: ${count} deliveries` })
    await drop.waitFor()
    expect(await drop.getAttribute('aria-disabled')).toBe('true')
    await drop.click({ force: true })
    await dialog.getByLabel('Type “drop all” to confirm').fill('drop al')
    expect(await drop.getAttribute('aria-disabled')).toBe('true')
    await sound(page, 'queue-drop')
    await dialog.getByLabel('Type “drop all” to confirm').fill('Drop all')
    expect(await drop.getAttribute('aria-disabled')).toBe('false')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect((await get<QueueSummary>('/queue/summary')).count).toBe(count)
    // With a filter, confirming the count is enough.
    await page.goto(at('/queue?do=drop&domain=later.example'))
    await dialog.getByRole('button', { name: 'Drop: 3 deliveries' }).waitFor()
    expect(await dialog.getByLabel(/^Type/).count()).toBe(0)
  })

  test('on a phone, the filters of the queue are behind one button', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(at('/queue?state=held'))
    await page.getByRole('button', { name: 'Filters (1)' }).click()
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await expect.poll(() => page.url()).toBe(at('/queue'))
    await page.setViewportSize({ width: 1280, height: 800 })
  })
})

describe('the health indicator', () => {
  const answer = (status: string, found: string) => ({
    object: 'doctor',
    status,
    complete: true,
    checked_at: '2026-11-20 20:39:59.540771+00',
    checks: [{ id: 'resolver', title: 'Resolver', status, found, advice: null }],
  })

  beforeAll(async () => {
    // A sandbox isn't checked, because its internet is simulated.
    await page.route('**/session', async (route) => {
      const response = await route.fetch()
      const session = (await response.json()) as { node: object }
      await route.fulfill({ response, json: { ...session, node: { ...session.node, sandbox: false } } })
    })
  })
  afterAll(() => page.unroute('**/session'))

  test('the health indicator shows the worst result of the checks, and links to them', async () => {
    const rail = page.getByRole('complementary')
    for (const [status, tone] of [
      ['failed', 'bad'],
      ['warning', 'warn'],
      ['ok', 'good'],
    ]) {
      const json = answer(status!, 'Without DNS no mail leaves. Look at dns.servers.')
      await page.route('**/doctor/latest', (route) => route.fulfill({ json }))
      await page.goto(at('/domains'))
      await rail.locator(`.dot[data-tone=${tone}]`).waitFor()
      if (tone !== 'good')
        await rail.getByRole('link', { name: 'Resolver: Without DNS no mail leaves.' }).waitFor()
      if (tone === 'bad') await sound(page, 'health')
      await page.unroute('**/doctor/latest')
    }
    const json = answer('failed', 'Without DNS no mail leaves.')
    await page.route('**/doctor/latest', (route) => route.fulfill({ json }))
    await page.goto(at('/domains'))
    await rail.getByRole('link', { name: 'Resolver: Without DNS no mail leaves.' }).click()
    await page.getByRole('heading', { name: 'Checks', exact: true }).waitFor()
    await page.unroute('**/doctor/latest')
  })

  test('the health indicator reads the latest results, and opening pages runs no checks', async () => {
    const json = answer('ok', 'Fine.')
    await page.route('**/doctor/latest', (route) => route.fulfill({ json }))
    await page.goto(at('/domains'))
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    const asked: string[] = []
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname))
    for (const path of ['/domains', '/queue']) {
      await page.goto(at(path))
      await page.getByRole('complementary').locator('.dot:not([data-tone=none])').waitFor()
    }
    await expect.poll(() => asked.filter((path) => path === '/doctor/latest').length).toBe(2)
    expect(asked).not.toContain('/doctor')
    await page.unroute('**/doctor/latest')
  })
})

test('no page caused a script error', () => expect(errors).toEqual([]))

describe('the command palette', () => {
  const palette = () => page.getByRole('dialog', { name: 'Go to' })
  const look = async (words: string) => {
    await page.goto(at('/metrics'))
    await page.getByRole('heading', { name: 'Metrics', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await palette().getByRole('combobox').fill(words)
  }

  test('the command palette finds domains, webhooks, API keys and suppressions by part of their names', async () => {
    const webhook = { endpoint: 'https://hooks.shop.example/orders', events: ['email.bounced'] }
    const { body: created } = await posthaste.call<{ id: string }>('POST', '/webhooks', webhook)
    const { body: key } = await posthaste.call<{ id: string }>('POST', '/api-keys', { name: 'Invoices app' })
    await posthaste.call('POST', '/suppressions', { email: 'gone@elsewhere.example' })
    const { data: domains } = await get<{ data: { id: string; name: string }[] }>('/domains')
    const domain = domains.find(({ name }) => name === posthaste.domain)!
    for (const [words, option, path] of [
      [domain.name.slice(1, 7), `Domain: ${domain.name}`, `/domains/${domain.id}`],
      ['shop.exa', `Webhook: ${webhook.endpoint}`, `/webhooks/${created.id}`],
      ['voices', 'API key: Invoices app', `/api-keys?key=${key.id}`],
      ['gone@else', 'Suppression: gone@elsewhere.example', '/suppressions?id='],
    ] as const) {
      await look(words)
      await palette().getByRole('option', { name: option }).click()
      await expect.poll(() => page.url()).toContain(at(path))
    }
  })

  test('the command palette finds an email by the start of an address, and reports when there is none', async () => {
    await look('first@paus')
    await palette()
      .getByRole('option', { name: /to first@paused\.example$/ })
      .waitFor()
    await expect.poll(() => palette().getByRole('status').count()).toBe(0)
    await palette().getByRole('combobox').fill('nobody@nowhere')
    await palette().getByRole('status').waitFor()
    await page.keyboard.press('Escape')
  })

  test('the command palette offers queue actions', async () => {
    await look('queue hold')
    await palette().getByRole('option', { name: 'Queue: Hold…' }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toBe(at('/queue?do=hold'))
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
  })
})
