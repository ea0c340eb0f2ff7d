import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAppliance, type TestAppliance } from '../world/appliance.ts'
import { launch, openPage } from './browser.ts'
import { acting, BAIT, IMAGES, SHOWN } from './hostile-mail.ts'
import { givePassword } from './people.ts'

/** Tests what hostile mail can do in the dashboard. */

let posthaste: TestAppliance
let browser: Browser
/** A server that hostile mail calls, and the requests to it. */
let elsewhere: Server
let away = ''
const called: string[] = []

const at = (path: string) => `${posthaste.url}/dashboard${path}`

beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    called.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
  away = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
  posthaste = await startAppliance()
  browser = await launch()
})
afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
  elsewhere?.close()
})

async function desk() {
  const opened = await openPage(browser)
  await opened.page.goto(at('/account'))
  await givePassword(opened.page, { email: posthaste.ownerEmail, password: posthaste.ownerPassword })
  await opened.page.getByRole('navigation', { name: 'Main' }).waitFor()
  return opened
}

describe('a hostile email', () => {
  test('the preview of a hostile email runs, loads and opens nothing, and does not navigate', async () => {
    const { page, context } = await desk()
    const id = await posthaste.send({ to: 'ada@reader.example', html: acting(away) })
    const address = at(`/emails/${id}?tab=preview`)
    await page.goto(address)
    const frame = page.frameLocator('iframe[title="Preview of the message"]')
    await frame.getByText('Harmless words').waitFor()
    for (const words of BAIT)
      await frame
        .getByText(words)
        .first()
        .click({ timeout: 2000, force: true })
        .catch(() => undefined) // hidden by the browser: no bait
    await page.waitForTimeout(500)
    expect(page.url()).toBe(address)
    expect(context.pages()).toHaveLength(1)
    expect(await frame.getByText('taken over').count()).toBe(0)
    expect(called).toEqual([])
    await context.close()
  })

  test('showing images in a hostile email loads only images', async () => {
    const { page, context } = await desk()
    const id = await posthaste.send({
      to: 'ada@reader.example',
      html: acting(away).replace('<ul>', `${IMAGES(away)}<ul>`),
    })
    const address = at(`/emails/${id}?tab=preview`)
    await page.goto(address)
    await page.getByRole('button', { name: 'Load remote images' }).click()
    const frame = page.frameLocator('iframe[title="Preview of the message"]')
    await frame.getByText('Harmless words').waitFor()
    await expect.poll(() => called.includes('/image-alone')).toBe(true)
    for (const words of BAIT.slice(0, 2))
      await frame
        .getByText(words)
        .first()
        .click({ timeout: 2000, force: true })
        .catch(() => undefined) // see above
    await page.waitForTimeout(500)
    expect(page.url()).toBe(address)
    expect(context.pages()).toHaveLength(1)
    expect(called.filter((path) => !SHOWN.has(path))).toEqual([])
    await context.close()
  })
})
