import type { TestAppliance } from './appliance.ts'

/** Recipients that are put off with one attempt each, for reasons of their own (docs/sandbox.md). */
const PUT_OFF = [
  'full@bigmail.example',
  'full+2@bigmail.example',
  'defer@outpost.example',
  'defer+2@cloudpost.example',
  'drop@wires.example',
  'x@servfail.museum.example',
]

export interface SeededQueue {
  /** Deliveries in the queue, all of the one team. */
  count: number
}

/** Fills the queue of a sandbox with mail that waits for as many reasons as there are. */
export async function seedQueue(posthaste: TestAppliance): Promise<SeededQueue> {
  const scheduled_at = new Date(Date.now() + 6 * 3_600_000).toISOString()
  const put = PUT_OFF.map(async (to) => {
    const id = await posthaste.send({ to, subject: 'Put off' })
    await posthaste.until(
      id,
      ({ attempts, deliveries }) => attempts.length > 0 && deliveries[0]!.cause !== null,
    )
  })
  await Promise.all(put)
  // A first message makes the lane; it is paused before the others come.
  const first = await posthaste.send({ to: 'first@paused.example' })
  await posthaste.until(first, ({ deliveries }) => deliveries[0]!.state === 'delivered')
  await posthaste.call('POST', `/lanes/auto~paused.example/pause`, { minutes: 45 })
  await posthaste.send({
    to: Array.from({ length: 9 }, (_, n) => `reader${n}@paused.example`),
    subject: 'Paused',
  })
  await posthaste.call('POST', '/queue/hold', { filter: { domain: 'held.example' }, new: true })
  await posthaste.send({
    to: Array.from({ length: 12 }, (_, n) => `reader${n}@held.example`),
    subject: 'Held',
  })
  for (const name of ['ada', 'bob', 'eve'])
    await posthaste.send({ to: `${name}@later.example`, subject: 'Scheduled', scheduled_at })
  return { count: PUT_OFF.length + 9 + 12 + 3 }
}
