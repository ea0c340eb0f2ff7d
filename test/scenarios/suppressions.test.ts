import { Resend } from 'resend'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { firstOf, on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

/** Tests which replies of mail servers put an address on the suppression list, and what the official client shows. */

let world: World
let appliance: TestAppliance
let client: Resend

beforeAll(async () => {
  const behave = firstOf(
    on('rcpt', '550 5.1.1 No such user here', { address: /^dead/ }),
    on('rcpt', '552 5.2.2 Mailbox full', { address: /^full/ }),
  )
  const blocks = on('rcpt', '550 5.7.1 Client host [127.0.0.1] blocked using zen.spamhaus.org')
  world = await createWorld({
    domains: {
      'strict.test': { mx: [{ preference: 10, host: 'mx.strict.test', exchanger: { behave } }] },
      // The lane to this server pauses, which must not delay the others.
      'listed.test': { mx: [{ preference: 10, host: 'mx.listed.test', exchanger: { behave: blocks } }] },
    },
  })
  appliance = await startAppliance({ world })
  client = new Resend(appliance.apiKey, { baseUrl: appliance.url })
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

const send = async (...to: string[]): Promise<string> => {
  const { data, error } = await client.emails.send({
    from: `hello@${appliance.domain}`,
    to,
    subject: 'Test',
    text: 'Test',
  })
  expect(error).toBeNull()
  return data!.id
}
const listed = async () => (await client.suppressions.list()).data!.data.map(({ email }) => email)
/** Returns the mail that was delivered. */
const arrived = () => world.mailboxOf('mx.strict.test').flatMap(({ envelope }) => envelope.to)

test('a bounce for an unknown user suppresses only that address, for the whole team', async () => {
  const first = await send('dead@strict.test', 'alive@strict.test')
  const { deliveries } = await appliance.until(first, isFinal)
  expect(deliveries.map(({ state }) => state)).toEqual(['bounced', 'delivered'])
  expect(await listed()).toEqual(['dead@strict.test'])

  const { data } = await client.suppressions.get('dead@strict.test')
  expect(data).toMatchObject({
    object: 'suppression',
    email: 'dead@strict.test',
    origin: 'bounce',
    source_id: first,
    reply: '550 5.1.1 No such user here',
    removed_at: null,
  })
  const second = await send('Dead@Strict.test', 'alive@strict.test')
  const again = await appliance.until(second, isFinal)
  expect(again.deliveries.map(({ state }) => state)).toEqual(['suppressed', 'delivered'])
  expect(again.events.map(({ type }) => type)).toContain('email.suppressed')
  expect(arrived()).toEqual(['alive@strict.test', 'alive@strict.test'])
})

test('a removed address gets mail again, and the next bounce records the removal', async () => {
  await appliance.until(await send('dead2@strict.test'), isFinal)
  expect((await client.suppressions.remove('dead2@strict.test')).error).toBeNull()
  const id = await send('dead2@strict.test')
  expect((await appliance.until(id, isFinal)).deliveries[0]!.state).toBe('bounced')
  expect((await client.suppressions.get('dead2@strict.test')).data).toMatchObject({
    origin: 'bounce',
    source_id: id,
    removed_at: expect.stringMatching(/\+00$/) as unknown,
  })
})

test.each([
  ['an IP block', 'bob@listed.test'],
  ['a full mailbox', 'full@strict.test'],
])('%s suppresses no address, even when the email expires', async (_what, address) => {
  const id = await send(address)
  const tried = ({ deliveries }: { deliveries: { attempts: number }[] }) => deliveries[0]!.attempts > 0
  await appliance.until(id, (timeline) => tried(timeline) && timeline.attempts.length > 0)
  await world.clock.advance(5 * 24 * 3_600_000)
  const { deliveries } = await appliance.until(id, isFinal)
  expect(deliveries.map(({ state }) => state)).toEqual(['expired'])
  expect(await listed()).not.toContain(address)
})

test('does not send scheduled mail to an address that was suppressed in the meantime', async () => {
  const scheduledAt = new Date(world.clock.now() + 3_600_000).toISOString()
  const { data } = await client.emails.send({
    from: `hello@${appliance.domain}`,
    to: 'late@strict.test',
    subject: 'Later',
    text: 'Later',
    scheduledAt,
  })
  expect((await client.suppressions.add({ email: 'late@strict.test' })).error).toBeNull()
  await world.clock.advance(2 * 3_600_000)
  const { deliveries, attempts } = await appliance.until(data!.id, isFinal)
  expect([deliveries[0]!.state, attempts]).toEqual(['suppressed', []])
  expect(arrived()).not.toContain('late@strict.test')
})
