import type { Browser, Page } from 'playwright-core'
import { Webhook as Svix } from 'svix'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { startReceiver, type Receiver } from '../world/receiver.ts'
import { seedReceived } from '../world/seeded-received.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { sound } from './sound.ts'

/** Tests received email in the dashboard: setup, search, safe display, and what happened to it. */

let posthaste: TestAppliance
let receiver: Receiver
let browser: Browser
let watched: Watched
let page: Page
let domain: { id: string; name: string }
const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  receiver = await startReceiver()
  posthaste = await startAppliance({
    config: { webhooks: { allow_networks: ['127.0.0.0/8'], retention_days: 30 } },
  })
  const { body } = await posthaste.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  domain = body.data[0]!
  browser = await launch()
  watched = await openPage(browser)
  page = watched.page
  await page.goto(at('/inbound'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
  await receiver?.close()
})

test('without received mail, the page explains how to receive it and links to the settings', async () => {
  await page.getByRole('heading', { name: 'Receiving is off' }).waitFor()
  await page.getByRole('link', { name: `settings of ${domain.name}` }).click()
  await page.getByRole('checkbox', { name: 'Receiving' }).check()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText(`Settings saved for ${domain.name}.`).waitFor()
  await page.goto(at('/inbound'))
  await page.getByText(`hello@${domain.name}`).waitFor()
  await sound(page, 'inbound-none')
})

test('adds receiving rules to a domain, and tests which rule matches an address', async () => {
  await page.goto(at(`/domains/${domain.id}?tab=settings`))
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByLabel('Address 1').fill('support*')
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByLabel('Address 2').fill('*')
  await page.getByLabel('Action 2').selectOption('Keep and forward')
  await page.getByLabel('Forward to 2').fill('ada@reader.example')
  await page.getByLabel('Try an address').fill('someone')
  await page.getByText('is stored, sent to webhooks and forwarded.').waitFor()
  await page.getByLabel('Action 2').selectOption('Refuse')
  await page.getByLabel('Try an address').fill('someone')
  await page.getByText(`Mail to someone@${domain.name} is refused with 550 5.1.1.`).waitFor()
  await page.getByLabel('Try an address').fill('Support+7')
  await page.getByText('is stored and sent to webhooks.').waitFor()
  await page.getByRole('button', { name: 'Save rules' }).click()
  await page.getByText(`Receiving rules saved for ${domain.name}.`).waitFor()
  await sound(page, 'receiving-rules')
  await page.getByRole('button', { name: 'Remove rule 2' }).click()
  await page.getByRole('button', { name: 'Save rules' }).click()
  const path = `/domains/${domain.id}/receiving-rules`
  await expect
    .poll(async () => (await posthaste.call('GET', path)).body)
    .toMatchObject({ rules: [{ pattern: 'support*', action: 'keep' }] })
})

test('finds a message, shows it without remote content, and links to the email that it replies to', async () => {
  const sent = await posthaste.send({ to: 'ada@reader.example', subject: 'Your order 40012 is on its way' })
  const id = await seedReceived(posthaste, domain, sent, Date.now())
  await page.goto(at('/inbound'))
  await page.getByRole('link', { name: 'Ada Marsh' }).waitFor()
  await sound(page, 'inbound')
  await page.getByLabel('DMARC').selectOption('DMARC fail')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  await page.getByRole('row', { name: 'Your invoice is overdue' }).getByText('DMARC: fail').waitFor()
  await page.getByLabel('DMARC').selectOption('Any DMARC result')
  await page.getByLabel('Sender, recipient or subject').fill('marsh')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
  await page.getByRole('link', { name: 'Ada Marsh' }).click()
  await expect.poll(() => page.url()).toBe(at(`/inbound/${id}`))
  const frame = page.frameLocator('iframe')
  await frame.getByText('the parcel came').waitFor()
  expect(await frame.locator('img').first().getAttribute('src')).toMatch(/^data:image\/png/)
  await page.getByText('Remote content is blocked: 1 item not loaded.').waitFor()
  await sound(page, 'inbound-email')
  await page.getByRole('link', { name: 'Checks' }).click()
  await page.getByText('DMARC for bigmail.example passed: the message comes from the From domain.').waitFor()
  await page.getByRole('link', { name: 'Open the email it answers' }).click()
  await page.getByRole('heading', { name: 'Replies' }).waitFor()
  await page.getByRole('link', { name: 'Re: Your order 40012 is on its way' }).click()
  await expect.poll(() => page.url()).toBe(at(`/inbound/${id}`))
})

test('downloads files and source, and replays a webhook event', async () => {
  await page.getByRole('link', { name: 'Attachments' }).click()
  const file = await page.getByRole('link', { name: 'Download dot.png' }).getAttribute('href')
  expect((await fetch(new URL(file!, posthaste.url))).status).toBe(200)
  await page.getByRole('link', { name: 'Source' }).click()
  await page.getByText('Return-Path: <ada@bigmail.example>').waitFor()
  await page.getByRole('link', { name: 'Webhooks', exact: true }).last().click()
  await page.getByText('No webhook received events for this email.').waitFor()
  const made = await posthaste.call<{ signing_secret: string }>('POST', '/webhooks', {
    endpoint: `${receiver.url}/hooks`,
    events: ['email.received'],
  })
  const id = await seedReceived(posthaste, domain, null, Date.now())
  await page.goto(at(`/inbound/${id}?tab=webhooks`))
  await page.getByRole('row', { name: 'email.received' }).getByText('succeeded').waitFor()
  await page.getByRole('button', { name: 'Send email.received again' }).click()
  await page.getByText('Replaying 1 event.').waitFor()
  // Two messages arrived, and the event of one was replayed.
  const told = await receiver.waitFor(3)
  for (const { body, headers } of told) {
    expect(() => new Svix(made.body.signing_secret).verify(body, headers)).not.toThrow()
    expect(() => new Svix(made.body.signing_secret).verify(`${body} `, headers)).toThrow()
  }
  const payloads = told.map(({ body }) => JSON.parse(body) as { type: string; data: { email_id: string } })
  expect(payloads.filter(({ data }) => data.email_id === id).map(({ type }) => type)).toEqual([
    'email.received',
    'email.received',
  ])
  expect(watched.errors).toEqual([])
})
