import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage, type Watched } from './browser.ts'
import { sound } from './sound.ts'

/** Tests what the email list and an email's page show, on a sandbox. */

let posthaste: TestAppliance
let browser: Browser
let desk: Watched

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  desk = await openPage(browser)
  await desk.page.goto(at('/emails'))
  await desk.page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await desk.page.getByLabel('Password').fill(posthaste.ownerPassword)
  await desk.page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await desk.page.getByRole('navigation', { name: 'Main' }).waitFor()
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

test('without emails, the example command contains a domain of the team', async () => {
  const { page } = desk
  await page.goto(at('/emails'))
  await page.getByText(`"from": "Me <me@${posthaste.domain}>"`).waitFor()
})

test('on a phone one button opens the filters and shows how many are set', async () => {
  const { page } = desk
  await page.goto(at('/emails?q=status:bounced'))
  const status = page.getByLabel('Status', { exact: true })
  const filters = page.getByRole('button', { name: 'Filters' })
  await status.waitFor()
  expect(await filters.isVisible()).toBe(false)
  await page.setViewportSize({ width: 390, height: 844 })
  await filters.waitFor()
  expect(await filters.innerText()).toBe('Filters (1)')
  expect(await status.isVisible()).toBe(false)
  await filters.click()
  await status.selectOption('delivered')
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('status:delivered')
  expect(await filters.getAttribute('aria-expanded')).toBe('true')
  await sound(page, 'emails-filters')
})

test.each([
  ['Reschedule', 'do=reschedule'],
  ['Replay events', 'do=replay'],
])('Esc closes “%s” and stays on the same page', async (title, query) => {
  const { page } = desk
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString()
  const email = await posthaste.send({ to: 'later@reader.example', subject: 'For later', scheduled_at })
  const { body: webhook } = await posthaste.call<{ id: string }>('POST', '/webhooks', {
    endpoint: 'https://app.example/hook',
    events: ['email.sent'],
  })
  const path = title === 'Reschedule' ? `/emails/${email}` : `/webhooks/${webhook.id}`
  // Pages that would appear if it went back more than one step.
  for (const before of ['/domains', '/emails', path]) await page.goto(at(before))
  await page.locator(`a[href$="${query}"]`).click()
  const dialog = page.getByRole('dialog', { name: title })
  await dialog.locator('[type="datetime-local"]').first().focus()
  await page.evaluate(`window.popped = 0; addEventListener('popstate', () => window.popped++)`)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  // The page's own history calls are done before this step forward and back.
  await page.evaluate(`history.pushState(null, '')`)
  await page.goBack()
  expect(page.url()).toBe(at(path))
  expect(await page.evaluate('window.popped')).toBe(2)
})

/** Sends an email. Waits until each of its recipients has reached `enough`. */
async function sendAndWait(email: Record<string, unknown>, enough: (status: string) => boolean) {
  const id = await posthaste.send(email)
  await posthaste.until(id, ({ deliveries }) => deliveries.every(({ status }) => enough(status)))
  return id
}

const ended = (status: string) => !['queued', 'scheduled', 'sent'].includes(status)

test('the status of an email to several recipients counts each status, failures first', async () => {
  const { page } = desk
  const to = ['ada', 'bob', 'cleo', 'dan', 'bounce-eve', 'full-fay'].map((name) => `${name}@reader.example`)
  const id = await sendAndWait({ to, subject: 'To six' }, ended)
  const one = await sendAndWait({ to: 'ada@reader.example', subject: 'To one' }, ended)
  const two = await sendAndWait({ to: to.slice(0, 2), subject: 'To two' }, ended)
  await page.goto(at('/emails?live=off'))
  const status = (email: string) =>
    page.locator('tr', { has: page.locator(`[data-row="${email}"]`) }).locator('td.status > span')
  const chips = async (email: string) =>
    (await status(email).locator('.chip').allTextContents()).map((text) => text.trim())
  await status(id).waitFor()
  expect(await chips(id)).toEqual(['1/6 bounced', 'delivered: 4/6', '1/6 delayed'])
  expect(await status(id).getAttribute('title')).toBe('1 bounced, 4 delivered, 1 delayed')
  expect(await chips(one)).toEqual(['delivered'])
  expect(await chips(two)).toEqual(['delivered'])
  expect(await status(two).getAttribute('title')).toBe('2 delivered')
  await sound(page, 'emails-several')
  await page.goto(at(`/emails/${id}`))
  const head = page.locator('.page-title .chip')
  await head.first().waitFor()
  expect(await head.allInnerTexts()).toEqual(['1/6 bounced', '4/6 delivered', '1/6 delayed'])
  await sound(page, 'email-several')
})

test.each([
  ['ada@nxdomain.example', 'The recipient’s domain does not exist, so no mail server was contacted.'],
  [
    'ada@nullmx.example',
    'This domain does not accept mail (null MX, RFC 7505), so no mail server was contacted.',
  ],
  ['complained@resend.dev', 'It was delivered, and the recipient reported it as spam.'],
])('the timeline of an email to %s ends with its cause', async (to, end) => {
  const { page } = desk
  const id = await posthaste.send({ to, subject: 'Its end' })
  await posthaste.until(id, ({ recipients }) => (recipients.bounced ?? recipients.complained) === 1)
  await page.goto(at(`/emails/${id}`))
  await page.getByText(end).waitFor()
  expect(await page.getByText('refused it for good').count()).toBe(0)
  expect(await page.getByText('the mailbox doesn’t exist').count()).toBe(0)
  await sound(page, `email-end-${to.split(/[@.]/)[1]}`)
})

test('the timeline shows a wait with its reason, after the acceptance', async () => {
  const { page } = desk
  const id = await posthaste.send({
    to: 'held@reader.example',
    subject: 'Waited',
    scheduled_at: new Date(Date.now() + 1500).toISOString(),
  })
  await posthaste.until(id, ({ deliveries }) => deliveries[0]!.state === 'delivered')
  await page.goto(at(`/emails/${id}`))
  const story = page.getByRole('region', { name: 'Delivery to held@reader.example' })
  await story.getByText('Accepted, and scheduled for later').waitFor()
  await story.getByText(/^Waited \d s: scheduled by the sender$/).waitFor()
  await sound(page, 'email-waited')
})

test('a bounced email shows that its address is suppressed, and sending again requires removing it', async () => {
  const { page } = desk
  const to = ['bounce-gone@reader.example', 'here@reader.example']
  const id = await sendAndWait({ to, subject: 'Half gone' }, ended)
  const alone = await sendAndWait({ to: to[0], subject: 'All gone' }, ended)

  await page.goto(at(`/emails/${alone}`))
  const notice = page.getByRole('region', { name: 'Suppressed recipients' })
  await notice.getByText('bounce-gone@reader.example has been suppressed since').waitFor()
  await notice.getByText('(after a bounce). It won’t receive new emails.').waitFor()
  await notice.getByRole('link', { name: 'bounce-gone@reader.example', exact: true }).waitFor()
  expect(await page.getByRole('link', { name: 'Suppress', exact: true }).count()).toBe(0)
  await sound(page, 'email-suppressed')

  await page.getByRole('link', { name: 'Send again' }).click()
  const dialog = page.getByRole('dialog')
  const again = dialog.getByRole('button', { name: 'Send again' })
  await dialog
    .getByText('bounce-gone@reader.example is suppressed and wouldn’t receive the new email.')
    .waitFor()
  expect(await again.getAttribute('aria-disabled')).toBe('true')
  await sound(page, 'email-resend-suppressed')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  await page.goto(at(`/emails/${id}?do=resend`))
  await dialog
    .getByText('1 of 2 recipients is suppressed and would be skipped: bounce-gone@reader.example.')
    .waitFor()
  await again.click()
  await page
    .getByText('Sent again to 1 of 2 recipients; 1 suppressed. You’re viewing the new email.')
    .waitFor()

  await page.goto(at(`/emails/${alone}?do=resend`))
  await dialog.getByLabel('Remove the address from the suppression list first').check()
  await again.click()
  await page.getByText('Sent again. You’re viewing the new email.').waitFor()
  const resent = new URL(page.url()).pathname.split('/').at(-1)!
  await posthaste.until(resent, ({ recipients }) => recipients.bounced === 1)

  await page.goto(at(`/emails/${alone}`))
  await notice.getByRole('link', { name: /^Remove/ }).click()
  await dialog.getByRole('button', { name: 'Remove suppression' }).click()
  await page.getByText('bounce-gone@reader.example is no longer suppressed.').waitFor()
  await notice.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Suppress', exact: true }).waitFor()
})

test('on a phone the outcome comes before the IDs, and a wide message is scaled to fit', async () => {
  const { page } = desk
  const html = '<table width="600"><tr><td align="right">at the right edge</td></tr></table>'
  const id = await sendAndWait({ to: 'phone@reader.example', subject: 'On a phone', html }, ended)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(at(`/emails/${id}`))
  const final = page.getByText('Final status: delivered')
  await final.waitFor()
  const top = async (text: string) => (await page.getByText(text, { exact: true }).first().boundingBox())!.y
  expect(await top('Final status: delivered')).toBeLessThan(await top('Message-ID'))
  await page.goto(at(`/emails/${id}?tab=preview`))
  const frame = page.locator('iframe[title="Preview of the message"]')
  await frame.contentFrame().getByText('at the right edge').waitFor()
  const { x, width } = (await frame.boundingBox())!
  expect(Math.round(x + width)).toBe(374)
  const message = frame.contentFrame().locator('html')
  expect(
    await message.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
  ).toBe(0)
  expect(await page.getByRole('button', { name: 'Mobile' }).getAttribute('aria-pressed')).toBe('true')
  await sound(page, 'email-preview')
})

test('shows internationalized domain names in Unicode, with the A-label on hover', async () => {
  const { page } = desk
  const to = ['ada@xn--bcher-kva.example', 'eve@xn--80ak6aa92e.example']
  const id = await posthaste.send({ to, subject: 'To books' })
  await page.goto(at('/emails?live=off'))
  const row = page.locator(`[data-row="${id}"]`)
  await row.waitFor()
  expect(await row.innerText()).toBe('ada@bücher.example')
  expect(await row.locator('[title]').getAttribute('title')).toBe('ada@xn--bcher-kva.example')
  await page.goto(at(`/emails/${id}`))
  await page.getByRole('heading', { name: 'ada@bücher.example' }).waitFor()
  // Cyrillic letters that look like Latin ones.
  await page.getByRole('heading', { name: 'eve@xn--80ak6aa92e.example' }).waitFor()
})

test('j and k show the next and previous email in the panel beside the list', async () => {
  const { page } = desk
  const ids: string[] = []
  for (const subject of ['Panel one', 'Panel two'])
    ids.push(await posthaste.send({ to: 'j@reader.example', subject }))
  await page.setViewportSize({ width: 1440, height: 844 })
  await page.goto(at(`/emails?q=Panel&live=off&email=${ids[1]}`))
  const beside = page.getByRole('region', { name: 'Selected email' })
  await beside.getByRole('heading', { name: 'Panel two' }).waitFor()
  await page.keyboard.press('j')
  await beside.getByRole('heading', { name: 'Panel one' }).waitFor()
  expect(new URL(page.url()).searchParams.get('email')).toBe(ids[0])
  await page.keyboard.press('k')
  await beside.getByRole('heading', { name: 'Panel two' }).waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
})

test('the Headers tab names the DKIM keys that signed an email, and the results of its receiver', async () => {
  const { page } = desk
  const id = await sendAndWait({ to: 'signed@reader.example', subject: 'Signed here' }, ended)
  await page.goto(at(`/emails/${id}?tab=headers`))
  await page
    .getByText(/^Sent with a DKIM signature for example\.test, selector posthaste \(RSA\)\./)
    .waitFor()
  await sound(page, 'email-headers')
  await page.goto(at('/inbox'))
  await page.getByRole('link', { name: 'signed@reader.example' }).first().click()
  await page.getByRole('link', { name: 'Headers' }).click()
  await page.getByRole('row', { name: /^Authentication-Results .*dkim=pass/ }).waitFor()
  await sound(page, 'inbox-headers')
})
