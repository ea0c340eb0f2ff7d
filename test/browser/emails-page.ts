import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { picture, sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the email list, its search, and the actions on an email. */
export function emailsPage(stage: Stage): void {
  describe('searching emails', () => searching(stage))
  describe('a long list of emails', () => longList(stage))
  describe('an email', () => oneEmail(stage))
}

/** Returns the recipients of the rendered rows. */
const recipients = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('main [data-row]')].map((row) => row.textContent)`)

function searching(stage: Stage): void {
  test('the search box accepts terms and filters, which the URL keeps', async () => {
    const { page, at, posthaste } = stage
    const mark = 'Kingfisher'
    for (const to of ['one@reader.example', 'two@reader.example', 'bounce-found@reader.example'])
      await posthaste.send({ to, subject: `${mark} for ${to.split('@')[0]}` })
    await page.goto(at('/emails'))
    const box = page.getByRole('searchbox')
    await box.fill(`${mark} to:two@reader.example`)
    await box.press('Enter')
    await expect.poll(() => recipients(page)).toEqual(['two@reader.example'])
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(`${mark} to:two@reader.example`)
    await page.getByText('End of list: 1 email').waitFor()

    await page.goto(at(`/emails?q=${mark}`))
    await page.getByLabel('Status', { exact: true }).selectOption('bounced')
    await expect.poll(() => recipients(page)).toEqual(['bounce-found@reader.example'])
    await expect.poll(() => box.inputValue()).toBe(`${mark} status:bounced`)
    const row = page.locator('tr', { hasText: 'bounce-found@reader.example' })
    expect(await row.getAttribute('title')).toMatch(/^bounce-found@reader\.example: 550 5\.1\.1 /)
    await sound(page, 'emails-search')
    await page.goBack()
    await expect.poll(async () => (await recipients(page)).length).toBe(3)
  })

  test('reports an unknown search key and shows no emails', async () => {
    const { page, at } = stage
    await page.goto(at('/emails?q=form:somebody'))
    await page.getByRole('alert').getByText('Unknown search key “form:”.').waitFor()
    expect(await recipients(page)).toEqual([])
    await page.goto(at('/emails?q=nobodyhasthissubject'))
    await page.getByRole('link', { name: 'Show all emails' }).click()
    await expect.poll(async () => (await recipients(page)).length).toBeGreaterThan(0)
  })

  test('downloads the list as CSV', async () => {
    const { page, at, posthaste } = stage
    await posthaste.send({ to: 'csv@reader.example', subject: '=cmd()' })
    await page.goto(at('/emails?q=to:csv@reader.example'))
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV', exact: true }).click()
    const lines = (await readFile(await (await waiting).path(), 'utf8')).split('\r\n')
    expect(lines[0]).toMatch(/^id,created_at,status,from,to,/)
    expect(lines[1]).toContain(",csv@reader.example,,,'=cmd(),")
    expect(lines).toHaveLength(3)
  })

  test('shows new emails only while Live is on', async () => {
    const { page, at, posthaste } = stage
    await page.goto(at('/emails?q=Quietly'))
    await page.getByLabel('Live').uncheck()
    await expect.poll(() => new URL(page.url()).searchParams.get('live')).toBe('off')
    await posthaste.send({ to: 'quiet@reader.example', subject: 'Quietly' })
    await page.getByLabel('Live').check()
    await posthaste.send({ to: 'loud@reader.example', subject: 'Quietly again' })
    await expect.poll(() => recipients(page)).toEqual(['loud@reader.example', 'quiet@reader.example'])
  })

  test('the command palette finds an email by address, Message-ID and remote queue ID', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'palette@reader.example', subject: 'Sought by many names' })
    const { deliveries } = await posthaste.until(id, (one) => one.deliveries[0]!.state === 'delivered')
    const queued = /queued as (\S+)/i.exec(deliveries[0]!.cause!.reply!.text)?.[1]
    const names = ['palette@reader.example', `<${id}@${posthaste.domain}>`, ...(queued ? [queued] : [])]
    await page.goto(at('/domains'))
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    for (const name of names) {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').fill(name)
      await page.getByRole('option', { name: 'Sought by many names to palette@reader.example' }).click()
      await page.getByRole('heading', { name: 'Sought by many names' }).waitFor()
    }
  })
}

function longList(stage: Stage): void {
  test('renders only visible rows, loads more while scrolling, and Back returns to the row', async () => {
    const { page, at, posthaste } = stage
    const emails = Array.from({ length: 100 }, (_, i) => ({
      from: `News <news@${posthaste.domain}>`,
      to: 'many@reader.example',
      text: 'hi',
      subject: `Longlist ${String(i).padStart(3, '0')}`,
    }))
    for (let part = 0; part < 3; part++) await posthaste.call('POST', '/emails/batch', emails)
    await page.goto(at('/emails?q=Longlist&live=off'))
    await page.locator('[data-row]').first().waitFor()
    expect((await recipients(page)).length).toBeLessThan(60)
    const end = page.getByText('End of list: 300 emails')
    const further = async () => {
      await page.mouse.wheel(0, 3000)
      return end.isVisible()
    }
    await expect.poll(further).toBe(true)
    expect((await recipients(page)).length).toBeLessThan(60)

    const id = await page.locator('[data-row]').nth(-5).getAttribute('data-row')
    await page.locator(`[data-row="${id}"]`).click()
    await page.getByRole('heading', { name: /^Longlist/ }).waitFor()
    // The smaller window brings the end of the list a few pixels closer to its top.
    await page.setViewportSize({ width: 1280, height: 812 })
    await page.goBack()
    await page.locator(`[data-row="${id}"]`).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.dataset.row ?? null')).toBe(id)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('on a wide window the selected email is shown beside the list', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'beside@reader.example', subject: 'Side by side' })
    await page.setViewportSize({ width: 1440, height: 844 })
    await page.goto(at('/emails'))
    await page.locator(`[data-row="${id}"]`).click()
    const beside = page.getByRole('region', { name: 'Selected email' })
    await beside.getByRole('heading', { name: 'Side by side' }).waitFor()
    await expect.poll(() => new URL(page.url()).searchParams.get('email')).toBe(id)
    await beside.getByRole('link', { name: 'Plain text' }).click()
    await beside.getByText('hello').first().waitFor()
    await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThan(5)
    await picture(page, 'emails-beside')
    await page.setViewportSize({ width: 1440, height: 844 })
    await page.keyboard.press('Escape')
    await beside.waitFor({ state: 'detached' })
    await page.goto(at(`/emails?email=${id}&tab=preview&look=dark&width=mobile`))
    await beside.getByRole('heading', { name: 'Side by side' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(at('/emails'))
    await page.setViewportSize({ width: 1280, height: 800 })
  })
}

function oneEmail(stage: Stage): void {
  const asked: string[] = []
  const elsewhere = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end()
  })
  beforeAll(() => new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve)))
  afterAll(() => void elsewhere.close())

  test('loads remote images only on request, and nothing else', async () => {
    const { page, at, posthaste } = stage
    const away = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
    const html = `<p>Look</p><img src="${away}/image.png" alt="one"><script src="${away}/script.js"></script>
      <link rel="stylesheet" href="${away}/style.css"><iframe src="${away}/frame"></iframe>`
    const id = await posthaste.send({ to: 'image@reader.example', subject: 'With an image', html })
    await page.goto(at(`/emails/${id}?tab=preview`))
    const frame = page.frameLocator('iframe[title="Preview of the message"]')
    await frame.getByText('Look').waitFor()
    await page.getByRole('button', { name: 'Dark', exact: true }).click()
    await expect.poll(() => new URL(page.url()).searchParams.get('look')).toBe('dark')
    expect(asked).toEqual([])
    await page.getByRole('button', { name: 'Load remote images' }).click()
    await frame.getByText('Look').waitFor()
    await expect.poll(() => asked).toEqual(['/image.png'])
  })

  test('the dark preview reports whether the message has dark-mode styles', async () => {
    const { page, at, posthaste } = stage
    const own = 'This message has no dark-mode styles, so its colors don’t change.'
    const dark = 'This message has its own dark-mode styles.'
    const cases: [html: string, said: string][] = [
      ['<p style="font-weight: bold; color-scheme: light">As it comes</p>', ''],
      ['<p style="background-color: #fff">Painted</p>', own],
      ['<table bgcolor="white"><tr><td>Painted</td></tr></table>', own],
      ['<style>p { margin: 0; color: #222 }</style><p>Painted</p>', own],
      ['<style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style><p>Ready</p>', dark],
    ]
    for (const [html, said] of cases) {
      const id = await posthaste.send({ to: 'dark@reader.example', subject: 'In the dark', html })
      await page.goto(at(`/emails/${id}?tab=preview&look=dark`))
      const note = page.getByText('Links are disabled.')
      await note.waitFor()
      expect({ html, said: await note.innerText() }).toEqual({
        html,
        said: `Links are disabled. ${said}`.trim(),
      })
      await page.getByRole('button', { name: 'Light', exact: true }).click()
      await expect.poll(() => note.innerText()).toBe('Links are disabled.')
    }
  })

  test('the header shows the status of each recipient in every tab', async () => {
    const { page, at, posthaste } = stage
    const to = ['Ada <head@reader.example>', 'bounce-head@reader.example']
    const id = await posthaste.send({ to, cc: 'copy@reader.example', subject: 'To three' })
    await posthaste.until(id, ({ deliveries }) => deliveries.every(({ state }) => state !== 'waiting'))
    await page.goto(at(`/emails/${id}?tab=text`))
    const stands = (address: string) =>
      page.locator('.facts span', { hasText: address }).first().locator('[data-tone]').getAttribute('title')
    await expect.poll(() => stands('head@reader.example')).toBe('delivered')
    await expect.poll(() => stands('bounce-head@reader.example')).toBe('bounced')
    await expect.poll(() => stands('copy@reader.example')).toBe('delivered')
    await sound(page, 'email-recipients')
  })

  test('a complaint has its own label and color in the timeline', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'complained@resend.dev', subject: 'Not wanted' })
    await posthaste.until(id, ({ events }) => events.some(({ type }) => type === 'email.complained'))
    await page.goto(at(`/emails/${id}`))
    const story = page.getByRole('region', { name: 'Delivery to complained@resend.dev' })
    await story.getByText('The recipient reported it as spam', { exact: true }).waitFor()
    await expect.poll(() => story.locator('.head').getByText('complained', { exact: true }).count()).toBe(1)
    await expect
      .poll(() => story.getByTitle('complained', { exact: true }).getAttribute('data-tone'))
      .toBe('magenta')
    await sound(page, 'email-complained')
  })

  test('Back collapses the last expanded attempt, and collapsing leaves no history entry', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'fold@reader.example', subject: 'Unfolded' })
    await posthaste.until(id, ({ deliveries }) => deliveries[0]!.state === 'delivered')
    await page.goto(at(`/emails/${id}`))
    const attempt = page.getByRole('button', { name: 'Attempt 1' })
    const said = page.getByText('RCPT TO:<fold@reader.example>')
    await attempt.click()
    await said.waitFor()
    await page.goBack()
    await said.waitFor({ state: 'detached' })
    expect(page.url()).toBe(at(`/emails/${id}`))
    await page.goForward()
    await said.waitFor()
    await attempt.click()
    await said.waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toBe(at(`/emails/${id}`))
  })

  test('lists the links of an email with their targets', async () => {
    const { page, at, posthaste } = stage
    const html =
      '<p><a href="https://shop.example/order?a=1&amp;b=2">Your <b>order</b></a><a href="javascript:alert(1)">Bad</a></p>'
    const id = await posthaste.send({ to: 'links@reader.example', subject: 'With links', html })
    await page.goto(at(`/emails/${id}?tab=links`))
    const link = page.getByRole('link', { name: 'https://shop.example/order?a=1&b=2' })
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    await page.getByText('Your order').waitFor()
    await page.getByText('javascript:alert(1)').waitFor()
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
    await sound(page, 'email-links')
    await page.getByRole('link', { name: 'Insights', exact: true }).click()
    await page.getByText('Some links lead nowhere: javascript:alert(1).').waitFor()
    await page.getByText('Give each link an address that begins with https://.').waitFor()
    await sound(page, 'email-insights')
    await page.goto(at(`/emails/${id}?tab=webhooks`))
    await page
      .getByText(/^No webhook received events for this email|email\.sent/)
      .first()
      .waitFor()
  })

  test('an email can be sent again as a new email, copied as curl, and its address suppressed', async () => {
    const { page, at, posthaste } = stage
    const id = await posthaste.send({ to: 'again@reader.example', subject: 'Twice' })
    await page.goto(at(`/emails/${id}`))
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toContain(`curl '${posthaste.url}/emails'`)
    expect(copied).toContain('"subject": "Twice"')

    await page.getByRole('link', { name: 'Send again' }).click()
    await sound(page, 'email-resend')
    await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click()
    await page.getByText('Sent again. You’re viewing the new email.').waitFor()
    const again = new URL(page.url()).pathname.split('/').at(-1)!
    expect(again).not.toBe(id)
    await posthaste.until(again, ({ deliveries }) => deliveries[0]!.state === 'delivered')

    await page.getByRole('link', { name: 'Suppress', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Suppress' }).click()
    await page.getByText('again@reader.example is suppressed.').waitFor()
    const third = await posthaste.send({ to: 'again@reader.example', subject: 'Thrice' })
    await posthaste.until(third, ({ deliveries }) => deliveries[0]!.state === 'suppressed')
    await posthaste.call('DELETE', '/suppressions/again@reader.example')
  })
}
