import { describe, expect, test } from 'vitest'
import { faintTexts, namelessControls, sidewaysScroll } from './browser.ts'
import type { Stage } from './stage.ts'

/** Registers tests of the queue page: queued deliveries and the actions on them. */
export function queuePage(stage: Stage): void {
  describe('the queue', () => {
    test('finds queued mail, holds it after a preview, and releases it with Undo', async () => {
      const { page, at, posthaste } = stage
      const scheduled_at = new Date(Date.now() + 86_400_000).toISOString()
      await posthaste.send({ to: 'ada@queued.example', scheduled_at })
      await posthaste.send({ to: 'bob@elsewhere.example', scheduled_at })
      await page.goto(at('/queue'))
      await page.getByRole('button', { name: 'Recipient domain: ' }).click()
      await page.getByRole('combobox', { name: 'Recipient domain' }).fill('queued')
      await page.getByRole('option', { name: 'queued.example', exact: true }).click()
      await expect.poll(() => page.getByText('bob@elsewhere.example').count()).toBe(0)
      await expect.poll(() => page.url()).toBe(at('/queue?domain=queued.example'))
      await page.getByText('ada@queued.example').first().waitFor()

      await page.getByRole('link', { name: 'Hold…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('would be held').waitFor()
      expect(await namelessControls(page)).toEqual([])
      expect(await faintTexts(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Hold: 1 delivery' }).click()
      await page.getByText('1 delivery is held.').waitFor()
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
      const held = await posthaste.call<{ data: object[] }>('GET', '/queue?state=held')
      expect(held.body.data).toMatchObject([{ recipient: 'ada@queued.example' }])
      await page.getByRole('button', { name: 'Undo', exact: true }).click()
      await page.getByText('Undone: 1 delivery.').waitFor()
      const after = await posthaste.call<{ data: object[] }>('GET', '/queue?state=held')
      expect(after.body.data).toEqual([])
    })

    test('Esc in an email opened from the queue returns to the same view of the queue', async () => {
      const { page, at } = stage
      await page.goto(at('/queue?domain=queued.example'))
      await page.getByRole('link', { name: 'ada@queued.example' }).click()
      await page.getByRole('link', { name: 'Headers', exact: true }).click()
      await page.getByRole('link', { name: 'Queue', exact: true }).last().waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'ada@queued.example' }).waitFor()
      await expect.poll(() => page.url()).toBe(at('/queue?domain=queued.example'))
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('ada@queued.example')

      // Opened from an external link, its list is that of all emails.
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'Headers', exact: true }).waitFor()
      const address = page.url()
      await page.goto('about:blank')
      await page.goto(address)
      await page.getByRole('link', { name: 'Headers', exact: true }).waitFor()
      await page.keyboard.press('Escape')
      await expect.poll(() => page.url()).toBe(at('/emails'))
    })

    test('each dialog has a URL: Back closes it, a shared link opens it, and neither changes anything', async () => {
      const { page, at, posthaste } = stage
      const waits = async () =>
        (await posthaste.call<{ data: unknown }>('GET', '/queue?domain=queued.example')).body.data
      const before = await waits()
      const dialog = page.getByRole('dialog')
      await page.goto(at('/queue?domain=queued.example'))
      for (const [words, action] of [
        ['Hold', 'hold'],
        ['Release', 'release'],
        ['Retry now', 'retry'],
        ['Expire', 'expire'],
        ['Drop', 'drop'],
      ]) {
        await page.getByRole('link', { name: `${words}…` }).click()
        await dialog.getByText('would be').waitFor()
        expect(page.url()).toBe(at(`/queue?domain=queued.example&do=${action}`))
        await page.goBack()
        await expect.poll(() => dialog.count()).toBe(0)
        expect(page.url()).toBe(at('/queue?domain=queued.example'))
      }

      await page.goForward()
      await dialog.getByRole('heading', { name: 'Drop deliveries?' }).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await expect.poll(() => page.url()).toBe(at('/queue?domain=queued.example'))

      await page.goto('about:blank')
      await page.goto(at('/queue?domain=queued.example&do=hold'))
      await dialog.getByLabel('Also hold new mail').check()
      await expect.poll(() => page.url()).toBe(at('/queue?domain=queued.example&do=hold&new=1'))
      await page.reload()
      await dialog.getByText('would be held').waitFor()
      expect(await dialog.getByLabel('Also hold new mail').isChecked()).toBe(true)
      await page.keyboard.press('Escape')
      await expect.poll(() => page.url()).toBe(at('/queue?domain=queued.example'))
      expect(await waits()).toEqual(before)
      expect((await posthaste.call('GET', '/queue/holds')).body).toMatchObject({ data: [] })

      await page.goto(at('/queue?do=reroute'))
      await dialog.getByRole('button', { name: 'Reroute', exact: true }).waitFor()
      await dialog.getByLabel('New pool').selectOption('default')
      await expect.poll(() => page.url()).toBe(at('/queue?do=reroute&to=default'))
      await page.reload()
      await dialog.getByText('would be rerouted').waitFor()
      await page.goto(at('/queue?do=everything'))
      await page.getByRole('link', { name: 'ada@queued.example' }).waitFor()
      expect(await dialog.count()).toBe(0)
    })

    test('drops deliveries, and the page fits a phone', async () => {
      const { page, at, posthaste } = stage
      await page.goto(at('/queue?domain=queued.example'))
      await page.getByRole('link', { name: 'Drop…' }).click()
      await page.getByText('You can’t undo this.').waitFor()
      await page.getByRole('button', { name: 'Drop: 1 delivery' }).click()
      await page.getByText('1 delivery is dropped.').waitFor()
      await page.getByText('No matching deliveries').waitFor()
      await posthaste.call('POST', '/queue/drop', { filter: { domain: 'elsewhere.example' } })
      await page.setViewportSize({ width: 390, height: 844 })
      await page.goto(at('/queue'))
      await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
      expect(await sidewaysScroll(page)).toBe(0)
      await page.setViewportSize({ width: 1280, height: 800 })
    })
  })
}
