import { createTransport } from 'nodemailer'
import { describe, expect, test } from 'vitest'
import { sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the page with apps' requests over HTTP and SMTP. */
export function logsPage(stage: Stage): void {
  describe('logs', () => logs(stage))
}

function logs(stage: Stage): void {
  test('lists a request with its content and the email it created', async () => {
    const { page, at, posthaste } = stage
    const email = await posthaste.send({ to: 'ada@reader.example', subject: 'Made by a request' })
    await page.goto(at(`/emails/${email}`))
    await page.getByRole('link', { name: 'Show in logs' }).click()
    const line = page.locator('tbody tr')
    await line.getByText('POST').waitFor()
    await expect.poll(() => line.count()).toBe(1)
    await line.getByRole('link').click()
    await page.getByText('"subject": "Made by a request"').waitFor()
    await expect
      .poll(() => page.locator('pre').nth(1).innerText())
      .toBe(JSON.stringify({ id: email }, null, 2))
    await page.getByRole('link', { name: email }).click()
    await page.getByRole('heading', { name: 'Made by a request' }).waitFor()
  })

  test('lists an SMTP message with its envelope and dialog among the requests', async () => {
    const { page, at, posthaste } = stage
    const [host, port] = posthaste.appliance.smtp.starttls[0]!.split(':')
    const transport = createTransport({
      host: host!,
      port: Number(port),
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: posthaste.apiKey },
    })
    const from = `hello@${posthaste.domain}`
    const to = ['ada@reader.example', 'bert@reader.example', 'cleo@reader.example']
    await transport.sendMail({ from, to, subject: 'Over SMTP', text: 'Hi' })
    transport.close()
    await page.goto(at('/logs?method=SMTP'))
    await page.getByRole('link', { name: `SMTP ${from} → ada@reader.example +2` }).click()
    await page.getByRole('heading', { name: `SMTP ${from} → ada@reader.example +2` }).waitFor()
    await page.getByText(`SMTP port ${port}`).waitFor()
    await page.getByRole('list', { name: 'SMTP dialog' }).getByText('DATA', { exact: true }).waitFor()
    await sound(page, 'log-smtp')
  })

  test('shows an SMTP rejection with its command and reply, and finds it by its code', async () => {
    const { page, at, posthaste } = stage
    const [host, port] = posthaste.appliance.smtp.starttls[0]!.split(':')
    const transport = createTransport({
      host: host!,
      port: Number(port),
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'posthaste', pass: posthaste.apiKey },
    })
    const mail = { from: 'ceo@bank.example', to: 'ada@reader.example', text: 'Hi' }
    const refused = await transport.sendMail(mail).catch((error: { response: string }) => error.response)
    transport.close()
    expect(refused).toMatch(/^550 5\.7\.1 /)
    await page.goto(at('/logs'))
    await page.getByRole('button', { name: 'Status: ' }).click()
    await page.getByRole('combobox', { name: 'Status' }).fill('5.7.1')
    await page.getByRole('option', { name: '5.7.1' }).click()
    await expect.poll(() => page.url()).toBe(at('/logs?status=5.7.1'))
    const line = page.locator('tbody tr')
    await expect.poll(() => line.count()).toBe(1)
    expect(await line.innerText()).toContain('550 5.7.1')
    await line.getByRole('link', { name: 'SMTP MAIL FROM:<ceo@bank.example>' }).click()
    await page.getByRole('heading', { name: 'SMTP MAIL FROM:<ceo@bank.example>' }).waitFor()
    await page.getByText('550 5.7.1').first().waitFor()
    await page.getByText('bank.example', { exact: false }).first().waitFor()
  })

  test('a rejected query shows its parameters and the reason, and j and k move the open panel', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('GET', '/emails?limit=0')
    await posthaste.call('GET', '/emails?limit=-1')
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(at('/logs?status=422'))
    await page.getByRole('link', { name: 'GET /emails?limit=-1' }).click()
    const panel = page.getByRole('region', { name: 'Selected request' })
    await panel.getByRole('heading', { name: 'GET /emails' }).waitFor()
    await panel.getByText('-1', { exact: true }).waitFor()
    await panel.getByText('Invalid `limit`').first().waitFor()
    await page.keyboard.press('j')
    await panel.locator('dd', { hasText: /^0$/ }).waitFor()
    await page.keyboard.press('k')
    await panel.locator('dd', { hasText: /^-1$/ }).waitFor()
    // The panel is one history entry, however many rows were opened.
    await page.goBack()
    await expect.poll(() => page.url()).toBe(at('/logs?status=422'))
    await page.goForward()
    await panel.waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
    await page.getByRole('link', { name: 'GET /emails?limit=-1' }).click()
    await panel.waitFor()
    await sound(page, 'logs-beside')
  })

  test('on a phone one button opens the filters', async () => {
    const { page, at } = stage
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(at('/logs?method=GET'))
    const filters = page.getByRole('button', { name: 'Filters (1)' })
    await filters.waitFor()
    expect(await page.getByLabel('Method').isVisible()).toBe(false)
    await filters.click()
    await page.getByLabel('Method').selectOption('POST')
    await expect.poll(() => page.url()).toBe(at('/logs?method=POST'))
    await sound(page, 'logs-filters')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('lists rejected requests, but not those of the dashboard', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/emails', { from: 'nobody' })
    await page.goto(at('/logs'))
    await page.locator('tr', { hasText: '422' }).first().waitFor()
    // The dashboard has requested domains many times by now, but with its cookie instead of a key.
    await page.getByRole('columnheader', { name: 'Key' }).waitFor()
    await expect.poll(() => page.locator('tbody tr', { hasText: '/queue/summary' }).count()).toBe(0)
  })

  test('filters the list, with the filters in the URL', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/emails', { from: 'nobody' })
    await posthaste.call('GET', '/domains')
    await page.goto(at('/logs'))
    await page.getByRole('button', { name: 'Status: ' }).click()
    await page.getByRole('option', { name: '4xx' }).click()
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Time').selectOption('24h')
    expect(page.url()).toBe(at('/logs?status=4xx&method=POST&since=24h'))
    await page.locator('tbody tr', { hasText: '422' }).first().waitFor()
    const others = page.locator('tbody tr').filter({ hasNotText: /^POST.*4\d\d/s })
    await others.first().waitFor({ state: 'detached' })

    await page.getByRole('searchbox').fill('/no-such-path')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'No matching requests' }).waitFor()
    await page.getByRole('link', { name: 'Show all requests' }).click()
    await page.locator('tbody tr', { hasText: '/domains' }).first().waitFor()
    expect(page.url()).toBe(at('/logs'))

    await page.goto(at('/logs?ip=192.0.2.1&method=GET'))
    await page.getByRole('link', { name: 'Remove filter From: 192.0.2.1' }).click()
    await page.locator('tbody tr', { hasText: '/domains' }).first().waitFor()
    expect(page.url()).toBe(at('/logs?method=GET'))
  })
}
