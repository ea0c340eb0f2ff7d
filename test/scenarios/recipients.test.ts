import { afterEach, describe, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on, type Behaviour } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance

afterEach(async () => {
  await appliance.close()
  await world.close()
})

async function begin(behave?: Behaviour): Promise<void> {
  const exchanger = behave ? { behave } : {}
  world = await createWorld({
    domains: { 'many.test': { mx: [{ preference: 10, host: 'mx.many.test', exchanger }] } },
  })
  appliance = await startAppliance({ world })
}

const recipients = Array.from({ length: 40 }, (_, i) => `u${i}@many.test`)

/** Sends one email to everyone. Returns the recipients of each message that arrived, and the email's outcome. */
async function send() {
  const id = await appliance.send({ to: recipients })
  const { deliveries, attempts } = await appliance.until(id, isFinal)
  const arrived = [...world.mailboxOf('mx.many.test')].map(({ envelope }) => envelope.to.length)
  const states = new Set(deliveries.map(({ state }) => state))
  const tries = new Set(deliveries.map(({ attempts: tried }) => tried))
  const connections = world.exchanger('mx.many.test').steps.filter(({ command }) => command === 'connect')
  const everybody = [...world.mailboxOf('mx.many.test')].flatMap(({ envelope }) => envelope.to)
  return { arrived, states, tries, attempts, connections: connections.length, everybody, deliveries }
}

/** Refuses recipients beyond `most` in a message or connection. */
function atMost(most: number, reply: string, of: 'connect' | 'mail' = 'mail'): Behaviour {
  let count = 0
  return ({ command }) => {
    if (command === of) count = 0
    if (command !== 'rcpt') return undefined
    count += 1
    return count > most ? reply : undefined
  }
}

describe('one email to forty recipients of one domain', () => {
  test('an email to forty recipients of one domain is sent as one message', async () => {
    await begin()
    const { arrived, states, attempts } = await send()
    expect(arrived).toEqual([40])
    expect(states).toEqual(new Set(['delivered']))
    expect(attempts).toHaveLength(1)
  })

  test('an email is split at the provider’s recipient limit, over one connection in one attempt', async () => {
    await begin()
    const { status } = await appliance.call('PATCH', '/providers/many.test', { recipients_per_message: 15 })
    expect(status).toBe(200)
    const { arrived, states, attempts, connections } = await send()
    expect(arrived).toEqual([15, 15, 10])
    expect(states).toEqual(new Set(['delivered']))
    expect([attempts.length, connections]).toEqual([1, 1])
  })

  test.each(['452 4.5.3 Too many recipients', '452 Error: too many recipients', '552 5.5.3 Enough'])(
    'continues at once with another message when the server accepts no more recipients: %s',
    async (reply) => {
      await begin(atMost(16, reply))
      const { arrived, states, tries, attempts, connections, everybody } = await send()
      expect(arrived).toEqual([16, 16, 8])
      expect([states, tries]).toEqual([new Set(['delivered']), new Set([1])])
      expect([attempts.length, connections]).toEqual([1, 1])
      expect(everybody.toSorted()).toEqual(recipients.toSorted())
    },
  )

  test('the remaining recipients wait, without counting an attempt, when the pace allows no more messages', async () => {
    await begin(atMost(10, '452 4.5.3 Too many recipients'))
    await appliance.call('PATCH', '/providers/many.test', { messages_per_minute: 1 })
    const id = await appliance.send({ to: recipients })
    const settled = (count: number) =>
      appliance.until(
        id,
        ({ deliveries }) => deliveries.filter(({ cause }) => cause !== null).length >= count,
      )
    for (const count of [10, 20, 30]) {
      await settled(count)
      await world.clock.advance(64_000)
    }
    const { deliveries, attempts } = await appliance.until(id, isFinal)
    expect([...world.mailboxOf('mx.many.test')].map(({ envelope }) => envelope.to.length)).toEqual([
      10, 10, 10, 10,
    ])
    expect(attempts).toHaveLength(4)
    expect(new Set(deliveries.map(({ attempts: tried }) => tried))).toEqual(new Set([1]))
  })

  test('does not treat a full mailbox as a recipient limit, and retries it later', async () => {
    await begin(({ command, address }) =>
      command === 'rcpt' && address === 'u3@many.test' ? '452 4.2.2 Mailbox full' : undefined,
    )
    const id = await appliance.send({ to: recipients })
    const { deliveries } = await appliance.until(
      id,
      (timeline) => timeline.deliveries.filter(({ state }) => state === 'delivered').length === 39,
    )
    const [left] = deliveries.filter(({ state }) => state !== 'delivered')
    expect(left).toMatchObject({ recipient: 'u3@many.test', state: 'waiting', attempts: 1 })
    expect([...world.mailboxOf('mx.many.test')]).toHaveLength(1)
  })

  test('an email is not split and retried at once if the server rejects MAIL', async () => {
    await begin(({ command }) => (command === 'mail' ? '451 4.3.2 Not today' : undefined))
    await appliance.call('PATCH', '/providers/many.test', { recipients_per_message: 15 })
    const id = await appliance.send({ to: recipients })
    const { deliveries } = await appliance.until(id, (timeline) =>
      timeline.deliveries.every(({ cause }) => cause !== null),
    )
    const causes = new Set(deliveries.map(({ cause }) => cause?.reply?.code))
    expect(causes).toEqual(new Set([451]))
    expect(world.exchanger('mx.many.test').steps.filter(({ command }) => command === 'mail')).toHaveLength(1)
  })
})

describe('recipients of one email that are deferred together', () => {
  const deferred = (timeline: Awaited<ReturnType<TestAppliance['timeline']>>) =>
    timeline.deliveries.every(({ state, cause }) => state === 'waiting' && cause !== null)

  test('recipients of one email that are deferred together are retried in one transaction', async () => {
    await begin(on('rcpt', '450 4.7.1 Greylisted, come back later', { times: 40 }))
    const id = await appliance.send({ to: recipients })
    const { deliveries } = await appliance.until(id, deferred)
    expect(new Set(deliveries.map(({ waiting }) => waiting?.until)).size).toBe(1)
    await world.clock.advance(73_000)
    const { attempts } = await appliance.until(id, isFinal)
    expect(attempts).toHaveLength(2)
    expect([...world.mailboxOf('mx.many.test')].map(({ envelope }) => envelope.to.length)).toEqual([40])
  })

  test.each([
    ['message', 'mail'],
    ['connection', 'connect'],
  ] as const)('after 421 to the sixth recipient of a %s are retried five at a time', async (_, of) => {
    await begin(atMost(5, '421 4.7.0 That is enough', of))
    const id = await appliance.send({ to: recipients.slice(0, 12) })
    const { deliveries } = await appliance.until(id, deferred)
    expect(new Set(deliveries.map(({ waiting }) => waiting?.until)).size).toBe(1)
    // The second attempt is delayed, because a lane slows down after refusals.
    const end = async () => {
      await world.clock.advance(30_000)
      return isFinal(await appliance.timeline(id))
    }
    await expect.poll(end).toBe(true)
    const timeline = await appliance.timeline(id)
    expect(new Set(timeline.deliveries.map(({ attempts }) => attempts))).toEqual(new Set([2]))
    expect([...world.mailboxOf('mx.many.test')].map(({ envelope }) => envelope.to.length)).toEqual([5, 5, 2])
  })
})
