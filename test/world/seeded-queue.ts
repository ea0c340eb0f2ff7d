import type { TestAppliance } from './appliance.ts'

/** Recipients that are deferred after one attempt, each for a different reason (docs/sandbox.md). */
const PUT_OFF = [
  'full@bigmail.example',
  'full+2@bigmail.example',
  'defer@outpost.example',
  'defer+2@cloudpost.example',
  'drop@wires.example',
  'x@servfail.museum.example',
]

export interface SeededQueue {
  /** Number of queued deliveries, all of one team. */
  count: number
}

/** Fills a sandbox's queue with mail that is queued for every possible reason. */
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
  // The first message creates the lane, which is paused before the others arrive.
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
