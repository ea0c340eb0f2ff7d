import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createKillable, type Killable } from '../world/killable.ts'

/**
 * An A/B test survives kills of the daemon in the test, before the winner is known, and while the rest is sent: everybody
 * gets one variant. Only recipients whose email was in flight may get it twice, and then the same one.
 */

const READERS = 200
const TESTED = 100
/** Maximum messages in flight at once: the connections to one provider. */
const ON_THE_WIRE = 10

let daemon: Killable
beforeAll(async () => {
  daemon = await createKillable()
  await daemon.start()
}, 400_000)
afterAll(() => daemon.close())

/** Returns the subjects that each reader got. */
function gotten(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { envelope, raw } of daemon.mailbox) {
    const subject = /\r\nSubject: (.*)\r\n/.exec(raw.toString())?.[1] ?? ''
    const to = envelope.to[0]!
    found.set(to, (found.get(to) ?? new Set()).add(subject))
  }
  return found
}
const count = (subject: string): number => [...gotten().values()].filter((all) => all.has(subject)).length

async function killAt(arrived: number): Promise<void> {
  await vi.waitFor(() => expect(gotten().size).toBeGreaterThanOrEqual(arrived), { timeout: 150_000 })
  await daemon.kill()
  await daemon.start()
}

interface Results {
  ab_test: { phase: string }
}

test('a daemon that is killed three times sends each reader one variant', async () => {
  const exchanger = daemon.world.exchanger('mx.busy.test')
  // Slow enough to kill the daemon in between.
  exchanger.behave(({ command }) => (command === 'rcpt' ? { until: sleep(100) } : undefined))
  const { data } = await daemon.call<{ data: { id: string; name: string }[] }>('GET', '/domains')
  await daemon.call('PATCH', `/domains/${data.find(({ name }) => name === 'sender.test')!.id}`, {
    click_tracking: true,
  })
  const { id: segment } = await daemon.call<{ id: string }>('POST', '/segments', { name: 'Readers' })
  const emails = Array.from({ length: READERS }, (_, n) => `reader${n}@busy.test`)
  await daemon.call('POST', '/contacts/batch/add', { emails, segment_ids: [segment] })
  const { id } = await daemon.call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: 'news@sender.test',
    subject: 'First',
    html: '<a href="https://shop.test/">Shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>',
    ab_test: { share: 50, wait_hours: 72, variants: [{ subject: 'Second' }] },
    send: true,
  })
  await killAt(0)
  await killAt(30)
  await vi.waitFor(
    async () =>
      expect((await daemon.call<Results>('GET', `/broadcasts/${id}/results`)).ab_test.phase).toBe('waiting'),
    { timeout: 150_000, interval: 100 },
  )
  // Emails in flight at a kill are retried after ten seconds.
  await vi.waitFor(() => expect([count('First'), count('Second')]).toEqual([TESTED / 2, TESTED / 2]), {
    timeout: 150_000,
    interval: 100,
  })
  await daemon.kill()
  await daemon.start()
  await daemon.call('POST', `/broadcasts/${id}/ab-test/winner`, { variant: 'B' })
  await killAt(TESTED + 30)
  await vi.waitFor(
    async () => expect(await daemon.call('GET', `/broadcasts/${id}`)).toMatchObject({ status: 'sent' }),
    { timeout: 150_000, interval: 100 },
  )
  await vi.waitFor(() => expect(gotten().size).toBe(READERS), { timeout: 150_000, interval: 100 })
  const all = gotten()
  expect([...all.values()].filter(({ size }) => size !== 1)).toEqual([])
  expect([count('First'), count('Second')]).toEqual([TESTED / 2, READERS - TESTED / 2])
  expect(daemon.mailbox.length).toBeLessThanOrEqual(READERS + 4 * ON_THE_WIRE)
  exchanger.behave(undefined)
}, 400_000)
