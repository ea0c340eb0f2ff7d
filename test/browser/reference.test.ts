import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type Api } from '../unit/http/harness.ts'
import { launch, openPage, type Watched } from './browser.ts'

/**
 * Tests the API reference at /docs, under the server's content security policy and without requests to other servers.
 */

const DASHBOARD = join(import.meta.dirname, '..', '..', 'ui', 'dist')

let api: Api
let browser: Browser
beforeAll(async () => {
  api = await startApi({ dashboard: DASHBOARD })
  browser = await launch()
})
afterAll(async () => {
  await browser?.close()
  await api?.close()
})

interface Opened extends Watched {
  /** The origins that received requests. */
  asked: Set<string>
}

async function open(width: number, colorScheme: 'light' | 'dark', path = '/docs'): Promise<Opened> {
  const watched = await openPage(browser, { viewport: { width, height: 844 }, colorScheme })
  const asked = new Set<string>()
  watched.page.on('request', (request) => asked.add(new URL(request.url()).origin))
  await watched.page.goto(`${api.url}${path}`)
  return { ...watched, asked }
}

describe.each([
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const)('at %i px in %s', (width, scheme) => {
  test('shows the API reference without requests to other hosts or policy violations', async () => {
    const { page, context, errors, asked } = await open(width, scheme)
    await page.getByRole('heading', { name: 'Posthaste', exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Idempotency', exact: true }).waitFor()
    const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect(ground).toBe(scheme === 'dark' ? 'rgb(15, 15, 15)' : 'rgb(255, 255, 255)')
    expect(overflow).toBeLessThanOrEqual(0)
    expect(errors).toEqual([])
    expect([...asked]).toEqual([api.url])
    await context.close()
  })
})

test('links to an API operation with its fields, errors and example', async () => {
  const { page, context, errors } = await open(1280, 'light')
  await page.getByRole('link', { name: 'Send an email HTTP Method: POST' }).click()
  const section = page
    .locator('section', { has: page.getByRole('heading', { name: 'Send an email' }) })
    .last()
  await section.getByText('scheduled_at').first().waitFor()
  await section.getByText('The accepted and stored email.').first().waitFor()
  expect(await section.getByText('curl').count()).toBeGreaterThan(0)
  expect(errors).toEqual([])
  await context.close()
})

test('serves the files of the API reference without a key, and no other files', async () => {
  const answer = async (path: string) => {
    const response = await fetch(`${api.url}${path}`, { headers: { 'accept-encoding': 'br' } })
    return [response.status, response.headers.get('content-encoding')]
  }
  expect(await answer('/docs/')).toEqual([200, null])
  expect(await answer('/docs/scalar.js')).toEqual([200, 'br'])
  expect(await answer('/docs/start.js')).toEqual([200, null])
  expect(await answer('/docs/scalar.js.br')).toEqual([404, null])
  expect(await answer('/docs/..%2findex.html')).toEqual([404, null])
})
