import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKillable, type Killable } from '../world/killable.ts'

/** Accepted mail survives `kill -9`. */

const EMAILS = 200

let daemon: Killable
beforeAll(async () => {
  daemon = await createKillable()
})
afterAll(() => daemon.close())

test(`${EMAILS} accepted emails arrive although the daemon is killed`, async () => {
  await daemon.start()
  const exchanger = daemon.world.exchanger('mx.busy.test')
  // No RCPT gets a reply before the kill, so all emails are queued or in flight.
  exchanger.behave(({ command }) =>
    command === 'rcpt' ? { until: new Promise(() => undefined) } : undefined,
  )
  const send = async (n: number): Promise<string> =>
    (
      await daemon.call<{ id: string }>('POST', '/emails', {
        from: 'a@sender.test',
        to: `user${n}@busy.test`,
        subject: `${n}`,
        text: 'x',
      })
    ).id
  const ids = await Promise.all(Array.from({ length: EMAILS }, (_, n) => send(n)))
  expect(new Set(ids).size).toBe(EMAILS)
  await daemon.kill()
  expect(daemon.mailbox).toHaveLength(0)

  exchanger.behave(undefined)
  await daemon.start()
  // Those in flight are retried after ten seconds.
  const arrivals = await daemon.mailbox.waitFor(EMAILS, 150_000)
  const recipients = arrivals.map(({ envelope }) => envelope.to[0])
  expect(new Set(recipients).size).toBe(EMAILS)
  expect(arrivals).toHaveLength(EMAILS)
  expect(await daemon.stop()).toBe(0)
}, 400_000)
