import { describe, expect, test } from 'vitest'
import { startReceiver } from '../world/receiver.ts'
import { sound } from './sound.ts'
import type { Stage } from './stage.ts'

/** The pages of webhooks, and the import of suppressions. Registers their tests. */
export function webhookPages(stage: Stage): void {
  describe('webhooks', () => webhooks(stage))
  describe('a list of suppressions', () => importing(stage))
}

function webhooks(stage: Stage): void {
  test('an endpoint is added, pinged, told of an email, replayed, disabled and removed', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const types = () => receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
    try {
      await page.goto(at('/webhooks'))
      await page.getByText('No webhooks yet').waitFor()
      await page.getByRole('link', { name: 'Add a webhook' }).click()
      await page.getByLabel('Endpoint').fill(receiver.url)
      await sound(page, 'webhook-new')
      await page.getByRole('dialog').getByRole('button', { name: /^Add/ }).click()
      await page.getByRole('heading', { name: receiver.url }).waitFor()
      await page.getByText('Nothing was sent yet.').waitFor()
      await page.getByText('No requests in the last 24 hours.').waitFor()

      await page.getByRole('button', { name: 'Send a test event' }).click()
      await page.getByText('The endpoint answered with status 200.').waitFor()
      await page
        .getByText(/^100 % of 1 request in the last 24 hours was taken\. Answers: median .+\.$/)
        .waitFor()
      expect(types()).toEqual(['webhook.ping'])

      const id = await posthaste.send({ to: 'ada@reader.example' })
      await expect.poll(types).toContain('email.delivered')
      const delivered = page.getByRole('link', { name: 'email.delivered' })
      await delivered.waitFor()
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
      // While it works, a dialog is not closed by a slip of the finger.
      await dialog.locator('button[aria-disabled=false]', { hasText: 'Send again' }).waitFor()
      await page.keyboard.press('Escape')

      await page.getByRole('link', { name: 'Replay' }).click()
      await page.locator('input[name=since]').fill('2020-01-01T00:00')
      await sound(page, 'webhook-replay')
      const before = receiver.received.length
      await page.getByRole('radio', { name: /^Everything/ }).check()
      await page.getByRole('button', { name: 'Replay', exact: true }).click()
      await page.getByText(/^\d+ events are sent\.$/).waitFor()
      await expect.poll(() => receiver.received.length).toBeGreaterThan(before)

      await page.getByRole('button', { name: 'Disable' }).click()
      await page.getByRole('button', { name: 'Enable' }).waitFor()
      await page.goto(at('/webhooks'))
      await page.getByRole('link', { name: receiver.url }).waitFor()
      await page.getByRole('cell', { name: /^100 % of \d+$/ }).waitFor()
      await sound(page, 'webhooks')
      await page.getByRole('link', { name: receiver.url }).click()
      await page.getByRole('link', { name: 'Remove', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove the webhook' }).click()
      await page.getByText('No webhooks yet').waitFor()
    } finally {
      await receiver.close()
    }
  })

  test('a test event that fails says why', async () => {
    const { page, at, posthaste } = stage
    const receiver = await startReceiver()
    const hook = { endpoint: receiver.url, events: ['email.delivered'] }
    const { body } = await posthaste.call<{ id: string }>('POST', '/webhooks', hook)
    receiver.behave((_, response) => {
      response.statusCode = 500
      response.end()
    })
    await page.goto(at(`/webhooks/${body.id}`))
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('The endpoint answered with status 500.').first().waitFor()
    await page.getByText(/^0 % of 1 request in the last 24 hours was taken\. Answers: /).waitFor()
    await posthaste.call('DELETE', `/webhooks/${body.id}`)
    await receiver.close()
  })
}

function importing(stage: Stage): void {
  test('is looked at before it is taken: what is added, what is there, what cannot be used', async () => {
    const { page, at, posthaste } = stage
    await posthaste.call('POST', '/suppressions', { email: 'here@listed.example' })
    await page.goto(at('/suppressions'))
    await page.getByRole('link', { name: /Import/ }).click()
    const lines = ['email,origin,note', 'one@listed.example,bounce,x', 'here@listed.example,,', 'nonsense,,']
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) })
    const dialog = page.getByRole('dialog', { name: 'Import a list' })
    await dialog.getByText('1 address to add, 1 on the list already, 1 line left out.').waitFor()
    await dialog.getByText('Not used: note').waitFor()
    expect((await posthaste.call('GET', '/suppressions/one@listed.example')).status).toBe(404)
    await sound(page, 'suppressions-import')
    await dialog.getByRole('button', { name: 'Suppress 1 address' }).click()
    await page.getByText('1 address is suppressed.').waitFor()
    const { body } = await posthaste.call('GET', '/suppressions/one@listed.example')
    expect(body).toMatchObject({ email: 'one@listed.example', origin: 'bounce' })
    for (const name of ['one', 'here']) await posthaste.call('DELETE', `/suppressions/${name}@listed.example`)
  })
}
