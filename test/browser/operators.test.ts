import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Lane, Provider } from '../../appliance/api/shaping.ts'
import type { Delivery } from '../../appliance/api/timeline.ts'
import type { Source } from '../../appliance/api/sources.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { MAX_REVEAL_DELAY_MS } from '../../ui/src/state/durations.ts'
import { parseInstant } from '../../ui/src/state/time.ts'
import { launch, openPage, still } from './browser.ts'
import { inOrder, shiftsOf, watchShifts } from './shifts.ts'
import { sound } from './sound.ts'

/** Tests the operator pages: lanes and holds of the queue, addresses, limits, retention, the node. */

let posthaste: TestAppliance
let browser: Browser
let page: Page
let errors: string[]

const at = (path: string) => `${posthaste.url}/dashboard${path}`
const list = async <T>(path: string) => (await posthaste.call<{ data: T[] }>('GET', path)).body.data

/** Makes the page wait for all its responses, however slow the machine is. */
const PATIENT = `(() => {
  const real = window.setTimeout
  window.setTimeout = (act, wait, ...rest) => (wait === ${MAX_REVEAL_DELAY_MS} ? 0 : real(act, wait, ...rest))
})()`

beforeAll(async () => {
  posthaste = await startAppliance()
  browser = await launch()
  ;({ page, errors } = await openPage(browser))
  await page.goto(at('/queue'))
  await page.getByLabel('Email address').fill(posthaste.ownerEmail)
  await page.getByLabel('Password', { exact: true }).fill(posthaste.ownerPassword)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  // A few minutes of three lanes: one slowed down by the provider, one new, and one without complaints.
  for (const provider of ['google', 'outlook', 'yahoo'])
    await posthaste.call('POST', `/lanes/auto~${provider}/resume`)
  await posthaste.call('POST', '/lanes/auto~yahoo/pause', { minutes: 90 })
  await posthaste.call('POST', '/lanes/auto~reader.example/resume')
  for (let n = 0; n < 4; n += 1)
    await posthaste.until(await posthaste.send({ to: `u${n}@reader.example` }), isFinal)
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString()
  for (const name of ['ada', 'bob', 'eve'])
    await posthaste.send({ to: `${name}@queued.example`, scheduled_at })
})

afterAll(async () => {
  await browser?.close()
  await posthaste?.close()
})

describe('the queue', () => {
  test('the queue shows ages and lanes, and pauses and resumes a lane', async () => {
    await page.goto(at('/queue'))
    await page.getByRole('link', { name: 'under 15 min' }).waitFor()
    await page.getByRole('img', { name: /^4 messages in the last hour/ }).waitFor()
    const google = page.getByRole('row', { name: /^Google|^Gmail/ })
    await google.getByRole('link', { name: /^Pause/ }).click()
    await expect.poll(() => page.url()).toBe(at('/queue?pause=auto%7Egoogle'))
    await page.goBack()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.setViewportSize({ width: 390, height: 844 })
    const yahoo = page.getByRole('row', { name: /^Yahoo/ })
    const why = (await yahoo.locator('td.why').boundingBox())!
    const button = (await yahoo.getByRole('button', { name: /^Resume/ }).boundingBox())!
    expect(Math.min(why.y + why.height, button.y + button.height)).toBeGreaterThan(Math.max(why.y, button.y))
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goForward()
    await page.getByRole('dialog').getByLabel('Until resumed').check()
    await sound(page, 'lane-pause')
    await page.getByRole('button', { name: 'Pause lane' }).click()
    await google.getByRole('button', { name: /^Resume/ }).waitFor()
    expect((await list<Lane>('/lanes')).find(({ provider }) => provider === 'google')).toMatchObject({
      paused: true,
      paused_until: null,
    })
    await google.getByRole('button', { name: /^Resume/ }).click()
    await google.getByRole('link', { name: /^Pause/ }).waitFor()
    await sound(page, 'queue')
  })

  test('shows queued mail before a slow count arrives', async () => {
    const opened = await openPage(browser, { storageState: await page.context().storageState() })
    const [come] = await inOrder(opened.page, ['/queue/summary'])
    await opened.page.goto(at('/queue'))
    await opened.page.getByRole('link', { name: 'ada@queued.example' }).waitFor()
    expect(await opened.page.getByRole('region', { name: 'Queue size' }).count()).toBe(0)
    await come!()
    await opened.page.getByRole('region', { name: 'Queue size' }).waitFor()
    await opened.context.close()
  })

  test('the layout does not shift while the page loads, in either order of the responses', async () => {
    const parts = ['/queue', '/queue/summary', '/queue/holds', '/queue/lanes', '/audit']
    for (const [width, order] of [
      [1280, parts],
      [1280, parts.toReversed()],
      [390, parts],
      [390, parts.toReversed()],
    ] as const) {
      const opened = await openPage(browser, { storageState: await page.context().storageState() })
      await opened.page.setViewportSize({ width, height: 800 })
      await watchShifts(opened.page)
      await opened.page.addInitScript(PATIENT)
      const answers = await inOrder(opened.page, order)
      await opened.page.goto(at('/queue'))
      await opened.page.getByRole('heading', { name: 'Queue' }).waitFor()
      for (const answer of answers) {
        await answer()
        await still(opened.page)
      }
      await opened.page.getByRole('heading', { name: 'Destinations', exact: true }).waitFor()
      await opened.page.getByRole('link', { name: 'ada@queued.example' }).waitFor()
      await still(opened.page)
      expect([width, order, await shiftsOf(opened.page)]).toEqual([width, order, []])
      await opened.context.close()
    }
  })

  test('shows the time of a reason in the user’s time zone, with the zone on hover', async () => {
    const waits = await list<Delivery>('/queue?domain=queued.example')
    const due = parseInstant(waits.find(({ recipient }) => recipient.startsWith('ada@'))!.waiting!.until!)
    const far = { storageState: await page.context().storageState(), timezoneId: 'Asia/Tokyo' }
    const opened = await openPage(browser, far)
    await opened.page.goto(at('/queue?domain=queued.example'))
    await opened.page.setViewportSize({ width: 1440, height: 900 })
    const row = opened.page.getByRole('row', { name: /ada@/ })
    const there = new Date(due + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
    expect(await row.locator('td.next time').getAttribute('title')).toMatch(`${there} GMT+9 (in `)
    expect(await row.locator('td.why').innerText()).toBe('Scheduled by the sender')
    await row.getByRole('link').click()
    await opened.page.getByText(`Scheduled for ${there} GMT+9 by the sender.`).waitFor()
    await opened.context.close()
  })

  test('an age bar filters the list, and its chip removes the filter', async () => {
    await page.goto(at('/queue'))
    await page.getByRole('link', { name: /^over 1 d/ }).click()
    await page.getByText('No matching deliveries').waitFor()
    await expect.poll(() => page.url()).toBe(at('/queue?older_than=1440m'))
    await page.getByRole('link', { name: 'Remove filter Older than: 1440m' }).click()
    await page.getByText('ada@queued.example').first().waitFor()
  })

  test('holds new mail by a rule, which can be undone at once or ended later', async () => {
    await page.goto(at('/queue?domain=queued.example'))
    await page.getByRole('link', { name: 'Hold…' }).click()
    await page.getByRole('dialog').getByText('3 deliveries would be held').waitFor()
    await page.getByRole('dialog').getByLabel('Also hold new mail').check()
    await sound(page, 'queue-hold')
    await page.getByRole('button', { name: 'Hold: 3 deliveries' }).click()
    await page.getByText('3 deliveries are held. New mail is held too.').waitFor()
    expect(await list('/queue/holds')).toMatchObject([{ domain: 'queued.example', provider: null }])
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await page.getByText('Undone: 3 deliveries.').waitFor()
    expect([await list('/queue/holds'), await list('/queue?state=held')]).toEqual([[], []])

    await page.getByRole('link', { name: 'Hold…' }).click()
    await page.getByRole('dialog').getByLabel('Also hold new mail').check()
    await page.getByRole('button', { name: 'Hold: 3 deliveries' }).click()
    await page.getByText('to queued.example').first().waitFor()
    await page
      .getByRole('row', { name: /^hold domain queued.example/ })
      .first()
      .waitFor()
    await sound(page, 'queue-held')
    await page.getByRole('button', { name: 'End hold and release new mail to queued.example' }).click()
    await page.getByText('New mail is no longer held. Released: 3 deliveries.').waitFor()
    expect(await list('/queue/holds')).toEqual([])
  })

  test('does not hold new mail by a condition that applies only to queued mail', async () => {
    await page.goto(at('/queue?older_than=1m'))
    await page.getByRole('link', { name: 'Hold…' }).click()
    await expect.poll(() => page.getByRole('dialog').getByLabel('Also hold new mail').isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Cancel' }).click()
  })
})

describe('IPs and providers', () => {
  test('adds an IP with a warm-up, suspends it and removes it', async () => {
    await page.goto(at('/sources'))
    await page.getByRole('link', { name: 'Add IP' }).click()
    await page.getByLabel('IP address').fill('127.0.0.2')
    await page.getByLabel('Pool').fill('news')
    await sound(page, 'source-new')
    await page.getByRole('dialog').getByRole('button', { name: 'Add IP' }).click()
    await page.getByRole('link', { name: '127.0.0.2' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await dialog.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await list<Source>('/sources')).toContainEqual(
      expect.objectContaining({
        ip: '127.0.0.2',
        pool: 'news',
        state: 'suspended',
        suspended_by: 'operator',
      }),
    )
    await sound(page, 'source')
    await dialog.getByRole('button', { name: 'End warm-up' }).click()
    await dialog.getByRole('button', { name: 'Start warm-up' }).waitFor()
    await page.keyboard.press('Escape')
    await sound(page, 'sources')
    await page.goto(at('/sources?tab=pools'))
    await page.getByLabel(/^Pool/).selectOption('news')
    await page.getByRole('button', { name: 'Add assignment' }).click()
    await page.getByText('Mail from all teams → news').waitFor()
    await sound(page, 'pools')
    await page.getByRole('button', { name: 'Remove the assignment to news' }).click()
    await page.getByText('No assignments: all mail uses the default pool.').waitFor()
    await page.goto(at('/sources?ip=127.0.0.2'))
    // A refresh keeps what is typed.
    const hostname = page.getByRole('dialog').getByLabel('EHLO name')
    await hostname.fill('typed.acme.example')
    await posthaste.call('PATCH', '/sources/127.0.0.2', { warm_up: true })
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await page.getByRole('dialog').getByRole('button', { name: 'End warm-up' }).waitFor()
    expect(await hostname.inputValue()).toBe('typed.acme.example')
    await page.getByRole('link', { name: 'Remove IP…' }).click()
    const question = page.getByRole('dialog', { name: 'Remove 127.0.0.2?' })
    await question.waitFor()
    await page.goBack()
    await expect.poll(() => question.count()).toBe(0)
    await page.goto(at('/sources?ip=127.0.0.2&do=remove'))
    await sound(page, 'source-remove')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(at('/sources?ip=127.0.0.2'))
    await page.goto(at('/sources?ip=auto&do=remove'))
    await page.getByRole('dialog').getByRole('heading', { name: 'Checks', exact: true }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
    await page.goto(at('/sources?ip=127.0.0.2&do=remove'))
    await question.getByRole('button', { name: 'Remove IP' }).click()
    await expect.poll(() => page.url()).toBe(at('/sources'))
    await expect
      .poll(async () => (await list<Source>('/sources')).some(({ ip }) => ip === '127.0.0.2'))
      .toBe(false)
  })

  test('limits of a provider apply at once, and can be reset to the defaults', async () => {
    const google = async () => (await list<Provider>('/providers')).find(({ id }) => id === 'google')!
    const before = await google()
    await page.goto(at('/sources?tab=providers'))
    await sound(page, 'providers')
    await page.getByLabel('Find a provider').fill('GOOGLE')
    await page.keyboard.press('Enter')
    const rows = page.locator('main [data-row]')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByRole('link', { name: 'Pools' }).click()
    await expect.poll(() => page.url()).toBe(at('/sources?tab=pools'))
    await page.goto(at('/sources?tab=providers&provider=google'))
    await page.getByLabel('Connections').fill('3')
    await sound(page, 'provider')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(google).toEqual({ ...before, connections: 3, changed: ['connections'] })
    await page.goto(at('/sources?tab=providers&provider=google'))
    await page.getByRole('button', { name: 'Reset to providers.toml' }).click()
    await expect.poll(google).toEqual(before)
  })

  test('looks up the TLS policy of a domain', async () => {
    await page.goto(at('/sources?tab=tls'))
    await page.getByLabel('Recipient domain').fill('reader.example')
    await page.keyboard.press('Enter')
    await page.getByText('MTA-STS', { exact: true }).waitFor()
    await sound(page, 'tls')
  })
})

describe('settings', () => {
  test('shows the limits and the node', async () => {
    await page.goto(at('/settings/limits'))
    await expect.poll(() => page.url()).toBe(at('/settings/usage'))
    await page.locator('section', { hasText: 'Maximum message size' }).getByText('40.0 MiB').waitFor()
    await page.getByRole('row', { name: 'free 100 3,000' }).waitFor()
    await page.getByRole('row', { name: 'unlimited · this team no limit no limit' }).waitFor()
    await sound(page, 'limits')
    await page.goto(at('/settings/nodes'))
    await page.getByText(posthaste.url, { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Certificates', exact: true }).waitFor()
    await page.getByText('Sending IPs', { exact: true }).waitFor()
    await sound(page, 'nodes')
  })

  test('removes one of several nodes after it is lost', async () => {
    const lost = { id: 'aa5b1c9a7d3e4f60', name: 'mail2', hostname: 'mail2.acme.example', state: 'lost' }
    const gone = {
      current: false,
      ready: false,
      sources: ['192.0.2.8'],
      reasons: ['It last renewed its entry in the database 65 s ago.'],
    }
    let removed: string | undefined
    await page.route(`${posthaste.url}/nodes`, async (route) => {
      const response = await route.fetch()
      const list = (await response.json()) as { data: object[] }
      if (removed === undefined) list.data.push({ ...list.data[0], ...lost, ...gone })
      await route.fulfill({ response, json: list })
    })
    await page.route(`${posthaste.url}/nodes/*`, async (route) => {
      removed = `${route.request().method()} ${new URL(route.request().url()).pathname}`
      await route.fulfill({ json: { object: 'node', id: lost.id, deleted: true } })
    })
    await page.goto(at('/settings/nodes'))
    await page.getByText('You are connected to this node.').waitFor()
    await sound(page, 'several nodes')
    await page.getByRole('link', { name: 'Remove node…' }).click()
    await page.getByText('Its sending IPs are removed too: 192.0.2.8.').waitFor()
    await sound(page, 'remove a node')
    await page.getByRole('button', { name: 'Remove node', exact: true }).click()
    await page.getByText('mail2 removed.').waitFor()
    expect(removed).toBe(`DELETE /nodes/${lost.id}`)
    await expect.poll(() => page.getByRole('heading', { name: lost.hostname }).count()).toBe(0)
    await page.unrouteAll()
  })

  test('stops storing message bodies of a domain, and erases a person’s data after a preview', async () => {
    await posthaste.call('POST', '/queue/retry', { filter: { domain: 'queued.example' } })
    await page.goto(at('/settings/retention'))
    await page.getByRole('row', { name: /^Audit log 730 days/ }).waitFor()
    const keep = page.getByLabel(`Keep bodies of ${posthaste.domain}`)
    await keep.uncheck()
    const without = async () =>
      (await posthaste.call<{ domains_without_bodies: string[] }>('GET', '/retention')).body
        .domains_without_bodies
    await expect.poll(without).toEqual([posthaste.domain])
    await keep.check()
    await expect.poll(without).toEqual([])

    await page.getByRole('link', { name: 'Erase a person’s data…' }).click()
    await page.getByLabel('Email address').fill('ada@queued.example')
    await page.getByRole('button', { name: 'Show affected data' }).click()
    await page.getByText('You can’t undo it.').waitFor()
    await sound(page, 'erasure')
    expect(await list('/erasures')).toEqual([])
    await page.getByRole('button', { name: 'Erase data' }).click()
    const done = async () => (await list<{ status: string }>('/erasures')).map(({ status }) => status)
    await expect.poll(done).toEqual(['done'])
    await page.getByText('1 email, 1 recipient', { exact: false }).waitFor()
    await sound(page, 'retention')
  })

  test('no operator page caused a script error', () => {
    expect(errors).toEqual([])
  })
})
