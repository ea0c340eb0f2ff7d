import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DomainInsights } from '../../appliance/api/insight-counts.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createTestClock, type TestClock } from '../world/clock.ts'
import { PATIENCE } from '../world/patience.ts'

/** Tests the counts of failed checks, from the request that sends an email to the page of its domain. */

let posthaste: TestAppliance
let clock: TestClock
beforeAll(async () => {
  clock = createTestClock()
  posthaste = await startAppliance({ clock })
})
afterAll(() => posthaste?.close())

test('counts emails from a no-reply address for their domain', async () => {
  const { body } = await posthaste.call<{ data: { id: string }[] }>('GET', '/domains')
  const path = `/domains/${body.data[0]!.id}/insights`
  const read = async () => (await posthaste.call<DomainInsights>('GET', path)).body
  expect(await read()).toMatchObject({ object: 'domain_insights', checked: 0, failed: [] })
  const sent = [
    await posthaste.send({
      to: 'ada@bigmail.test',
      from: `no-reply@${posthaste.domain}`,
      subject: 'Your order',
    }),
    await posthaste.send({ to: 'ada@bigmail.test', from: `shop@${posthaste.domain}`, subject: 'Your order' }),
  ]
  for (const id of sent) await posthaste.until(id, isFinal)
  await expect
    .poll(
      async () => {
        await clock.advance(15_000)
        return (await read()).checked
      },
      { timeout: PATIENCE },
    )
    .toBe(2)
  const { failed, days } = await read()
  expect(failed).toContainEqual({ check: 'reply', emails: 1, note: '1 email from a no-reply address' })
  expect(days).toHaveLength(30)
  expect(days.at(-1)!.failed).toContainEqual({ check: 'reply', emails: 1 })
  expect((await posthaste.call(`GET`, `${path}?days=0`)).status).toBe(422)
})
