import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { domainsPage } from './domains-page.ts'
import { emailsPage } from './emails-page.ts'
import { queuePage } from './queue-page.ts'
import { logsPage } from './logs-page.ts'
import { sendingPages } from './sending-pages.ts'
import type { Stage } from './stage.ts'
import { webhookPages } from './webhook-pages.ts'
import {
  faintTexts,
  holdData,
  launch,
  namelessControls,
  openPage,
  sidewaysScroll,
  still,
  type Watched,
} from './browser.ts'

/** Tests the built dashboard in a real browser, on a real appliance in its sandbox. */

let posthaste: TestAppliance
let browser: Browser
/** Signed in once. Tests that need another state open a page of their own. */
let desk: Watched

/** A server for remote content, and the requests to it. */
let elsewhere: Server
const fetched: string[] = []

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const row = (page: Page, id: string) => page.locator('tr', { has: page.locator(`[data-row="${id}"]`) })
const focusedRow = (page: Page) => page.evaluate<string | null>('document.activeElement.dataset.row ?? null')
const isSettled = (state: string) => state !== 'waiting'

/** Sends an email. Waits until each of its deliveries is final. */
async function sendAndSettle(email: Record<string, unknown>): Promise<string> {
  const id = await posthaste.send(email)
  await posthaste.until(id, ({ deliveries }) => deliveries.every(({ state }) => isSettled(state)))
  return id
}

async function signIn(page: Page, path = '/emails'): Promise<void> {
  await page.goto(at(path))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password').fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).or(page.getByLabel('Open menu')).first().waitFor()
}

beforeAll(async () => {
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  const smtp = { starttls: ['127.0.0.1:0'] } as never
  posthaste = await startAppliance({ config: { webhooks, smtp } })
  elsewhere = createServer((request, response) => {
    fetched.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  browser = await launch()
  desk = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] })
  await signIn(desk.page)
})

afterAll(async () => {
  await browser?.close()
  elsewhere?.close()
  await posthaste?.close()
})

describe('signing in', () => {
  test('a wrong password is rejected with a message, and the right one opens the linked page', async () => {
    const { page, context } = await openPage(browser)
    await page.goto(at('/domains?from=a-link'))
    await page.getByLabel('Email address').fill(posthaste.ownerEmail)
    await page.getByLabel('Password').fill('not the password')
    await page.keyboard.press('Enter')
    await page.getByText('Wrong email address or password.').waitFor()
    await expect.poll(() => page.url()).toBe(at('/sign-in?next=%2Fdomains%3Ffrom%3Da-link'))

    await page.getByLabel('Password').fill(posthaste.ownerPassword)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await expect.poll(() => page.url()).toBe(at('/domains?from=a-link'))
    await context.close()
  })

  test('an expired session leads to sign-in and back to the page', async () => {
    const { page, context } = await openPage(browser)
    await signIn(page)
    // The page learns about the final state on its way to the next page, not before.
    const leave = await holdData(page)
    await context.clearCookies()
    await page.getByRole('link', { name: 'Domains', exact: true }).click()
    leave()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await expect.poll(() => page.url()).toBe(at('/sign-in?next=%2Fdomains'))

    await page.getByLabel('Email address').fill(posthaste.ownerEmail)
    await page.getByLabel('Password').fill(posthaste.ownerPassword)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor()
    await expect.poll(() => page.url()).toBe(at('/domains'))
    await context.close()
  })

  test('signing out ends the session on the server', async () => {
    const { page, context } = await openPage(browser)
    await signIn(page)
    const cookies = await context.cookies()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await context.addCookies(cookies)
    await page.goto(at('/emails'))
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await context.close()
  })
})

describe('emails', () => {
  test('an email sent through the API appears without a reload and is delivered', async () => {
    const { page } = desk
    await page.goto(at('/emails'))
    const id = await posthaste.send({ to: 'ada@reader.example', subject: 'Seen without a reload' })
    await row(page, id).getByText('delivered').waitFor()
    await expect.poll(() => row(page, id).locator('td').first().innerText()).toBe('ada@reader.example')
  })

  test('a delivered email shows its timeline, down to the SMTP transcript', async () => {
    const id = await sendAndSettle({ to: 'grace@reader.example', subject: 'The whole story' })
    const { page } = desk
    await page.goto(at(`/emails/${id}`))
    const story = page.getByRole('region', { name: 'Delivery to grace@reader.example' })
    await story.getByText('Final status: delivered').waitFor()
    await expect.poll(() => story.getByText('→').count()).toBe(0)

    await story.getByRole('button', { name: 'Attempt 1' }).click()
    await story.getByText('RCPT TO:<grace@reader.example>').waitFor()
    await expect.poll(() => story.getByText('354').count()).toBe(1)
    // A pasted link shows the same transcript.
    const { attempts, deliveries } = await posthaste.timeline(id)
    await expect.poll(() => page.url()).toBe(at(`/emails/${id}?open=${attempts[0]!.id}.${deliveries[0]!.id}`))
    await page.reload()
    await story.getByText('RCPT TO:<grace@reader.example>').waitFor()
  })

  test('a bounced email shows the reason and the status code', async () => {
    const id = await sendAndSettle({ to: 'bounce@reader.example', subject: 'To nobody' })
    const { page } = desk
    await page.goto(at(`/emails/${id}`))
    const story = page.getByRole('region', { name: 'Delivery to bounce@reader.example' })
    await story.getByText('Final status: bounced').waitFor()
    const { deliveries } = await posthaste.timeline(id)
    await expect
      .poll(() => story.getByText(deliveries[0]!.cause!.note.replace(/\.$/, '')).count())
      .toBeGreaterThan(0)
    await expect.poll(() => story.getByText('550 5.1.1', { exact: true }).count()).toBe(1)
    await story.getByText('Cause: the mailbox doesn’t exist or is closed.').waitFor()
  })

  test('the preview runs no scripts and loads nothing remote', async () => {
    const away = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
    const id = await sendAndSettle({
      to: 'ada@reader.example',
      subject: 'A stranger’s page',
      html: `<html><head><meta http-equiv="refresh" content="0;url=${away}/refresh">
        <style>@import "${away}/import.css"; body { background: url(${away}/css.png) }</style></head>
        <body><p>Harmless words</p><img src="${away}/pixel.png" alt="A pixel">
        <script>document.body.textContent = 'taken over'</script>
        <p onclick="this.textContent = 'taken over'">Click</p><iframe src="${away}/frame"></iframe>
        <a href="${away}/link" target="_self">A link</a></body></html>`,
    })
    const { page } = desk
    await page.goto(at(`/emails/${id}?tab=preview`))
    const frame = page.frameLocator('iframe[title="Preview of the message"]')
    await frame.getByText('Harmless words').waitFor()
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('')
    await frame.getByText('Click').click()
    await frame.getByText('A link').click()
    await page.getByText('Remote content is blocked').waitFor()
    await page.getByRole('button', { name: 'Mobile' }).click()
    await expect.poll(() => page.url()).toBe(at(`/emails/${id}?tab=preview&width=mobile`))
    await frame.getByText('Harmless words').waitFor()
    expect(await frame.getByText('taken over').count()).toBe(0)
    expect(fetched).toEqual([])
  })

  test('an email shows decoded headers and the unchanged source', async () => {
    const id = await sendAndSettle({ to: 'ada@reader.example', subject: 'Grüße aus Köln' })
    const { page } = desk
    await page.goto(at(`/emails/${id}?tab=headers`))
    await page.getByRole('row', { name: /^Subject Grüße aus Köln/ }).waitFor()
    await page.getByRole('link', { name: 'Source' }).click()
    await page.getByText('Message-ID:').waitFor()
    await expect.poll(() => page.locator('pre').innerText()).toMatch(/^Subject: =\?UTF-8\?/im)
  })

  test('j, k, Enter and Esc navigate the list, and Escape returns to the row', async () => {
    const ids = [
      await sendAndSettle({ to: 'a@reader.example' }),
      await sendAndSettle({ to: 'b@reader.example' }),
    ]
    const { page } = desk
    await page.goto(at('/emails'))
    await row(page, ids[1]!).waitFor()
    await page.keyboard.press('j')
    await expect.poll(() => focusedRow(page)).toBe(ids[1])
    await page.keyboard.press('j')
    await expect.poll(() => focusedRow(page)).toBe(ids[0])
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Delivery to a@reader.example' }).waitFor()
    await page.keyboard.press('Escape')
    await row(page, ids[0]!).waitFor()
    await expect.poll(() => page.url()).toBe(at('/emails'))
    await expect.poll(() => focusedRow(page)).toBe(ids[0])
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  test('an unknown email or page shows a message instead of a blank page', async () => {
    const { page } = desk
    await page.goto(at('/emails/01890000-0000-7000-8000-000000000000'))
    await page.getByText('Email not found').waitFor()
    await page.goto(at('/nowhere'))
    await page.getByText('Page not found').waitFor()
  })
})

test('the menu shows the server status, and the reasons if the server is not accepting mail', async () => {
  const { page } = await openPage(browser)
  await signIn(page, '/domains')
  const rail = page.getByRole('complementary')
  await rail.getByText('The server accepts mail.').waitFor()
  const body = { object: 'health', status: 'unavailable', reasons: ['There is no room.'] }
  await page.route('**/readyz', (route) => route.fulfill({ status: 503, json: body }))
  await page.reload()
  await rail.getByText('The server isn’t accepting mail. There is no room.').waitFor()
  await page.route('**/readyz', (route) => route.abort('connectionrefused'))
  await page.reload()
  await rail.getByText('No response: The server does not respond.').waitFor()
  await page.context().close()
})

const stage: Stage = {
  get posthaste() {
    return posthaste
  },
  get browser() {
    return browser
  },
  get page() {
    return desk.page
  },
  at,
  row: (id) => row(desk.page, id),
}
domainsPage(stage)
emailsPage(stage)
sendingPages(stage)
logsPage(stage)
queuePage(stage)
webhookPages(stage)

describe('the sandbox', () => {
  test('the sandbox is announced on every page and shows received messages with their checks', async () => {
    const id = await sendAndSettle({
      to: 'inbox@reader.example',
      subject: 'Caught',
      html: '<p>Caught words</p>',
    })
    const { page } = desk
    for (const path of ['/emails', `/emails/${id}`, '/domains', '/inbox']) {
      await page.goto(at(path))
      await page.getByText('No mail leaves this machine.').waitFor()
    }
    const caught = page.locator('tr', { hasText: 'Caught' })
    await caught.getByText('all pass').waitFor()
    await caught.getByRole('link').click()
    for (const check of ['DKIM', 'DMARC']) await page.getByText(`${check}: pass`).waitFor()
    await page.frameLocator('iframe').getByText('Caught words').waitFor()
    await page.getByRole('link', { name: 'Source' }).click()
    await expect.poll(() => page.locator('pre').innerText()).toMatch(/^DKIM-Signature:/im)
  })
})

describe('every page', () => {
  // About 60 page loads, in milliseconds.
  const LONG = 600_000
  test(
    'every page fits 390 px without sideways scrolling, labels its controls, and has enough contrast in both themes',
    { timeout: LONG },
    async () => {
      const allDomains = (await posthaste.call('GET', '/domains')).body as { data: { id: string }[] }
      const { data } = allDomains
      const id = await sendAndSettle({
        to: ['ada@reader.example', 'bounce@reader.example', 'c@reader.example', 'd@reader.example'],
        subject: 'A subject that is long enough not to fit into one line of a telephone held upright',
        html: '<p>Words</p>',
        text: 'Words without markup',
      })
      const { deliveries, attempts } = await posthaste.timeline(id)
      const folds = attempts.flatMap(({ id, delivery_ids }) =>
        delivery_ids.map((delivery) => `${id}.${delivery}`),
      )
      const unfolded = [...deliveries.map((delivery) => delivery.id), ...folds].join(',')
      const domain = `/domains/${data[0]!.id}`
      const { data: requests } = (await posthaste.call('GET', `/logs?email_id=${id}`))
        .body as typeof allDomains
      const { data: keys } = (await posthaste.call('GET', '/api-keys')).body as typeof allDomains
      const later = await posthaste.send({ to: 'ada@reader.example', scheduled_at: 'in 1 hour' })
      await posthaste.call('POST', '/suppressions', { email: 'somebody.with.a.long.name@reader.example' })
      const { data: suppressed } = (await posthaste.call('GET', '/suppressions')).body as typeof allDomains
      /** Each path, with words that appear once it has loaded. */
      const pages: [path: string, words: string][] = [
        ['/emails', 'A subject that is long'],
        [`/emails/${id}`, 'ada@reader.example'],
        [`/emails/${id}?open=${unfolded}`, 'RCPT TO:<ada@reader.example>'],
        [`/emails/${id}?tab=preview`, 'Links are disabled.'],
        [`/emails/${id}?tab=text`, 'Words without markup'],
        [`/emails/${id}?tab=headers`, 'MIME-Version'],
        [`/emails/${id}?tab=source`, 'Download'],
        ['/domains', posthaste.domain],
        ['/domains?new=1', 'More settings'],
        [domain, '_dmarc'],
        [`${domain}?tab=dkim`, 'posthaste-ed25519'],
        [`${domain}?tab=dkim&do=rotate`, 'Posthaste creates new keys'],
        [`${domain}?tab=settings`, 'Delete this domain'],
        [`${domain}?tab=settings&do=delete`, 'Type '],
        [`/emails/${id}?tab=attachments`, 'This email has no attachments.'],
        [`/emails/${id}?do=share`, 'Anyone with the link'],
        [`/emails/${later}`, 'First attempt in'],
        [`/emails/${later}?do=reschedule`, 'in this browser’s time zone'],
        [`/emails/${later}?do=cancel`, 'You can still read it here.'],
        ['/logs', '/emails'],
        [`/logs/${requests[0]!.id}`, 'Response'],
        ['/api-keys', 'Full access'],
        ['/api-keys?new=1', 'Can only send emails.'],
        [`/api-keys?key=${keys[0]!.id}`, 'Delete key…'],
        ['/suppressions', 'somebody.with.a.long.name'],
        ['/suppressions?new=1', 'Enter one per line'],
        [`/suppressions?id=${suppressed[0]!.id}`, 'Remove from the list'],
        ['/settings/usage', 'Rate limit'],
        ['/inbox', 'A subject that is long'],
        ['/nowhere', 'Page not found'],
      ]
      const phone = await openPage(browser, { viewport: { width: 390, height: 844 } })
      await signIn(phone.page)
      for (const [path, words] of pages) {
        await phone.page.goto(at(path))
        await phone.page.locator('main, dialog[open]').getByText(words).first().waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await phone.page.emulateMedia({ colorScheme })
          await still(phone.page)
          const where = { path, colorScheme }
          const seen = {
            ...where,
            sideways: await sidewaysScroll(phone.page),
            nameless: await namelessControls(phone.page),
            faint: await faintTexts(phone.page),
          }
          expect(seen).toEqual({ ...where, sideways: 0, nameless: [], faint: [] })
        }
      }
      expect(phone.errors).toEqual([])
      await phone.context.close()
    },
  )

  test('no page causes a script error or violates the content security policy', () => {
    // The preview's style sheets request remote images on purpose; the test above expects the policy to block them.
    expect(desk.errors.filter((error) => !/Content Security Policy|sandboxed/.test(error))).toEqual([])
  })
})
