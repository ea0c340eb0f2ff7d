import { createTransport } from 'nodemailer'
import { describe, expect, test } from 'vitest'
import { sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** What apps asked, over HTTP and over SMTP. Registers its tests. */
export function logsPage(stage: Stage): void {
  describe('logs', () => logs(stage))
}

function logs(stage: Stage): void {
  test('a request is listed, and shows what was said and the email that it made', async () => {
    const { page, at, posthaste } = stage
    const email = await posthaste.send({ to: 'ada@reader.example', subject: 'Made by a request' })
    await page.goto(at(`/emails/${email}`))
    await page.getByRole('link', { name: 'what the app asked for' }).click()
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

  test('a message by SMTP stands beside the requests with its envelope, and shows what was said', async () => {
    const { page, at, posthaste } = stage
    const [host, port] = posthaste.appliance.smtp.starttls[0]!.split(':')
    const transport = createTransport({
      ...{ host: host!, port: Number(port), requireTLS: true, tls: { rejectUnauthorized: false } },
      auth: { user: 'posthaste', pass: posthaste.apiKey },
    })
    const from = `hello@${posthaste.domain}`
    const to = ['ada@reader.example', 'bert@reader.example', 'cleo@reader.example']
    await transport.sendMail({ from, to, subject: 'Over SMTP', text: 'Hi' })
    transport.close()
    await page.goto(at('/logs?method=SMTP'))
    await page.getByRole('link', { name: `SMTP ${from} → ada@reader.example +2` }).click()
    await page.getByRole('heading', { name: /^SMTP smtp:/ }).waitFor()
    await page.getByText(`${from} → ada@reader.example +2`).waitFor()
    await page.getByText('"said": "DATA"').waitFor()
    await sound(page, 'log-smtp')
  })

  test('a refused request is there too, and what the dashboard itself asks is not', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/emails', { from: 'nobody' })
    await page.goto(at('/logs'))
    await page.locator('tr', { hasText: '422' }).first().waitFor()
    // The dashboard has asked for domains many times by now, with its cookie and not with a key.
    await page.getByRole('columnheader', { name: 'Key' }).waitFor()
    await expect.poll(() => page.locator('tbody td.agent', { hasText: 'Mozilla' }).count()).toBe(0)
  })

  test('the list is narrowed by what is chosen, and the address says by what', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/emails', { from: 'nobody' })
    await posthaste.call('GET', '/domains')
    await page.goto(at('/logs'))
    await page.getByLabel('Status').selectOption('4xx')
    await page.getByLabel('Method').selectOption('POST')
    await page.getByLabel('Time').selectOption('24h')
    expect(page.url()).toBe(at('/logs?status=4xx&method=POST&since=24h'))
    await page.locator('tbody tr', { hasText: '422' }).first().waitFor()
    const others = page.locator('tbody tr').filter({ hasNotText: /^POST.*4\d\d/s })
    await others.first().waitFor({ state: 'detached' })

    await page.getByRole('searchbox').fill('/no-such-path')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'No request meets this' }).waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await page.locator('tbody tr', { hasText: '/domains' }).first().waitFor()
    expect(page.url()).toBe(at('/logs'))

    await page.goto(at('/logs?ip=192.0.2.1&method=GET'))
    await page.getByRole('link', { name: 'Take away From: 192.0.2.1' }).click()
    await page.locator('tbody tr', { hasText: '/domains' }).first().waitFor()
    expect(page.url()).toBe(at('/logs?method=GET'))
  })
}
