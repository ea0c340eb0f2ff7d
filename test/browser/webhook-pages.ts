import { describe, expect, test } from 'vitest'
import { startReceiver } from '../world/receiver.ts'
import { sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the webhook pages and of the import of suppressions. */
export function webhookPages(stage: Stage): void {
  describe('webhooks', () => webhooks(stage))
  describe('importing suppressions', () => importing(stage))
}

const rowIds = (rows: { dataset: { row?: string } }[]) => rows.map(({ dataset }) => dataset.row)

function webhooks(stage: Stage): void {
  test('adds an endpoint, pings it, sends it an event, replays, disables and removes it', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const types = () => receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
    try {
      await page.goto(at('/webhooks'))
      await page.getByText('No webhooks yet').waitFor()
      await page.getByRole('link', { name: 'Add webhook' }).click()
      await page.getByLabel('Endpoint').fill(receiver.url)
      await sound(page, 'webhook-new')
      await page.getByRole('dialog').getByRole('button', { name: /^Add/ }).click()
      await page.getByRole('heading', { name: receiver.url }).waitFor()
      await page.getByText('No events sent yet. Events appear here as they happen.').waitFor()
      await page.getByText('No requests in the last 24 h', { exact: true }).waitFor()

      await page.getByRole('button', { name: 'Send test event' }).click()
      await page.getByText('The endpoint returned status 200.').waitFor()
      await page.getByText(/^1 request in the last 24 h · 100% succeeded · p50 .+ · p95 .+$/).waitFor()
      expect(types()).toEqual(['webhook.ping'])

      const id = await posthaste.send({ to: 'ada@reader.example' })
      await expect.poll(types).toContain('email.delivered')
      const delivered = page.getByRole('link', { name: 'email.delivered' })
      await delivered.waitFor()
      await expect.poll(() => delivered.getByTitle('delivered').getAttribute('data-tone')).toBe('green')
      await sound(page, 'webhook')
      await delivered.click()
      const dialog = page.getByRole('dialog', { name: 'email.delivered' })
      await dialog.getByRole('link', { name: id }).waitFor()
      await dialog.locator('summary').first().click()
      await dialog.getByText(/svix-signature: v1,/).waitFor()
      await sound(page, 'webhook-event')
      await dialog.getByRole('button', { name: 'Send again' }).click()
      await expect.poll(() => types().filter((type) => type === 'email.delivered').length).toBe(2)
      const again = receiver.received.filter(({ body }) => body.includes('email.delivered'))
      expect(again[0]!.headers['svix-id']).toBe(again[1]!.headers['svix-id'])
      // While it is working, a slip doesn't close the dialog.
      await dialog.locator('button[aria-disabled=false]', { hasText: 'Send again' }).waitFor()
      await page.keyboard.press('Escape')

      await page.getByRole('link', { name: 'Replay events' }).click()
      await page.locator('input[name=since]').fill('2020-01-01T00:00')
      await sound(page, 'webhook-replay')
      const before = receiver.received.length
      await page.getByRole('radio', { name: /^Everything/ }).check()
      await page.getByRole('button', { name: 'Replay events', exact: true }).click()
      await page.getByText(/^Replaying \d+ events\.$/).waitFor()
      await expect.poll(() => receiver.received.length).toBeGreaterThan(before)

      await page.getByRole('button', { name: 'Disable webhook' }).click()
      await page.getByRole('button', { name: 'Enable webhook' }).waitFor()
      await page.goto(at('/webhooks'))
      await page.getByRole('link', { name: receiver.url }).waitFor()
      await page.getByRole('cell', { name: /^100% of \d+$/ }).waitFor()
      await sound(page, 'webhooks')
      await page.getByRole('link', { name: receiver.url }).click()
      await page.getByRole('link', { name: 'Remove webhook', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove webhook' }).click()
      await page.getByText('No webhooks yet').waitFor()
    } finally {
      await receiver.close()
    }
  })

  test('selects rows by mouse and by keyboard, and replays the selection', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const hook = { endpoint: receiver.url, events: ['email.delivered'] }
    const { body } = await posthaste.call<{ id: string }>('POST', '/webhooks', hook)
    const emails: string[] = []
    for (const [n, name] of ['ada', 'bob', 'eve', 'kim'].entries()) {
      emails.push(await posthaste.send({ to: `${name}@reader.example`, subject: `Receipt ${n}` }))
      await receiver.waitFor(n + 1)
    }
    const ids = () => receiver.received.map(({ headers }) => headers['svix-id'])
    const [first, second, third, fourth] = ids()
    const box = (name: string) => page.getByRole('checkbox', { name: `Select email.delivered ${name}@` })
    const picked = () => page.locator('tr:has(td input:checked) [data-row]').evaluateAll(rowIds)
    const all = page.getByRole('checkbox', { name: 'Select all on this page' })

    await page.goto(at(`/webhooks/${body.id}`))
    await page.getByRole('link', { name: 'kim@reader.example Receipt 3' }).waitFor()
    await expect.poll(() => page.getByText('succeeded', { exact: true }).count()).toBe(4)
    await page
      .getByRole('cell', { name: /^200, [\d.]+ m?s$/ })
      .first()
      .waitFor()
    await box('kim').click()
    await box('bob').click({ modifiers: ['Shift'] })
    expect(await picked()).toEqual([fourth, third, second])
    const bar = page.getByRole('group', { name: 'Selection' })
    await bar.getByText('3 selected').waitFor()
    await sound(page, 'webhook-picked')
    await page.keyboard.press('Escape')
    await bar.waitFor({ state: 'detached' })
    expect(await picked()).toEqual([])

    await page.locator(`[data-row="${third}"]`).focus()
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+X')
    expect(await picked()).toEqual([third, second, first])
    await page.keyboard.press('x')
    expect(await picked()).toEqual([third, second])

    // New deliveries don't move the rows.
    await posthaste.send({ to: 'late@reader.example' })
    await receiver.waitFor(5)
    const fresh = page.waitForResponse((answer) => answer.url().includes('/events?'))
    await (await fresh).finished()
    expect(await page.locator('[data-row]').evaluateAll(rowIds)).toEqual([fourth, third, second, first])

    await bar.getByRole('button', { name: 'Replay 2' }).click()
    await page.getByText('Replaying 2 events.').waitFor()
    await receiver.waitFor(7)
    expect(ids().slice(5).toSorted()).toEqual([second, third].toSorted())
    await box('late').waitFor()
    await all.click()
    await bar.getByText('5 selected').waitFor()
    await all.click()
    await bar.waitFor({ state: 'detached' })

    await page.getByRole('link', { name: 'ada@reader.example Receipt 0' }).click()
    await expect.poll(() => page.url()).toBe(at(`/emails/${emails[0]}`))
    await posthaste.call('DELETE', `/webhooks/${body.id}`)
    await receiver.close()
  })

  test('replays to a disabled endpoint stay pending, on a phone too, without the test event', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const hook = { endpoint: receiver.url, events: ['email.delivered'] }
    const { body } = await posthaste.call<{ id: string }>('POST', '/webhooks', hook)
    receiver.behave((_, response) => response.writeHead(503).end())
    await posthaste.send({ to: 'ada@reader.example' })
    await receiver.waitFor(1)
    receiver.behave()
    await posthaste.call('POST', `/webhooks/${body.id}/ping`)
    await posthaste.call('PATCH', `/webhooks/${body.id}`, { status: 'disabled' })
    await page.goto(at(`/webhooks/${body.id}`))
    await page.getByRole('link', { name: 'webhook.ping' }).waitFor()
    await page.getByRole('cell', { name: /^503, [\d.]+ m?s · next when enabled$/ }).waitFor()
    await sound(page, 'webhook-disabled')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByText('Select all on this page').click()
    await page.getByRole('button', { name: 'Replay 1' }).click()
    await page.getByText('1 event pending until the webhook is enabled.').waitFor()
    await page.getByRole('button', { name: 'Failed' }).click()
    await page.getByText('No matching events').waitFor()
    expect(receiver.received).toHaveLength(2)
    await page.setViewportSize({ width: 1280, height: 800 })
    await posthaste.call('DELETE', `/webhooks/${body.id}`)
    await receiver.close()
  })

  test('a failed test event shows the reason', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const hook = { endpoint: receiver.url, events: ['email.delivered'] }
    const { body } = await posthaste.call<{ id: string }>('POST', '/webhooks', hook)
    receiver.behave((_, response) => {
      response.statusCode = 500
      response.end()
    })
    await page.goto(at(`/webhooks/${body.id}`))
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText('The endpoint returned status 500.').first().waitFor()
    await page.getByText(/^1 request in the last 24 h · 0% succeeded · p50 /).waitFor()
    await posthaste.call('DELETE', `/webhooks/${body.id}`)
    await receiver.close()
  })
}

function importing(stage: Stage): void {
  test('previews a file: addresses to add, already suppressed, and invalid', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/suppressions', { email: 'here@listed.example' })
    await page.goto(at('/suppressions'))
    await page.getByRole('link', { name: /Import/ }).click()
    const lines = ['email,origin,note', 'one@listed.example,bounce,x', 'here@listed.example,,', 'nonsense,,']
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) })
    const dialog = page.getByRole('dialog', { name: 'Import suppressions' })
    await dialog.getByText('1 address to add, 1 already suppressed, 1 line skipped.').waitFor()
    await dialog.getByText('Ignored columns: note').waitFor()
    expect((await posthaste.call('GET', '/suppressions/one@listed.example')).status).toBe(404)
    await sound(page, 'suppressions-import')
    await dialog.getByRole('button', { name: 'Suppress 1 address' }).click()
    await page.getByText('1 address suppressed.').waitFor()
    const { body } = await posthaste.call('GET', '/suppressions/one@listed.example')
    expect(body).toMatchObject({ email: 'one@listed.example', origin: 'bounce' })
    for (const name of ['one', 'here']) await posthaste.call('DELETE', `/suppressions/${name}@listed.example`)
  })
}
