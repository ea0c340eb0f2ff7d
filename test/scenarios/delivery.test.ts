import type { Email } from '../../appliance/api/emails.ts'
import type { EmailRecord } from '../../appliance/api/email-record.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { createWorld, type World } from '../world/world.ts'

let world: World
let appliance: TestAppliance

beforeAll(async () => {
  world = await createWorld({
    domains: {
      'good.test': { mx: [{ preference: 10, host: 'mx.good.test', exchanger: { tls: 'self-signed' } }] },
      'greylisting.test': {
        mx: [
          {
            preference: 10,
            host: 'mx.greylisting.test',
            exchanger: { behave: on('rcpt', '450 4.2.0 Greylisted, come back later', { times: 1 }) },
          },
        ],
      },
      'strict.test': {
        mx: [
          {
            preference: 10,
            host: 'mx.strict.test',
            exchanger: {
              behave: on('rcpt', '550 5.1.1 No such user here', { address: 'nobody@strict.test' }),
            },
          },
        ],
      },
      'half-dead.test': {
        mx: [
          { preference: 10, host: 'mx1.half-dead.test', exchanger: { down: true } },
          { preference: 20, host: 'mx2.half-dead.test' },
        ],
      },
      'null.test': { nullMx: true },
      'intranet.test': { records: { A: '10.0.0.5' } },
      'broken-dns.test': { dns: 'SERVFAIL' },
      'silent-dns.test': { dns: 'TIMEOUT' },
      'never.test': {
        mx: [
          { preference: 10, host: 'mx.never.test', exchanger: { behave: on('rcpt', '451 4.3.0 Not now') } },
        ],
      },
      'implicit.test': { implicit: {} },
      'broken-tls.test': {
        mx: [{ preference: 10, host: 'mx.broken-tls.test', exchanger: { tls: 'broken' } }],
      },
    },
  })
  appliance = await startAppliance({ world })
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

describe('an email to a domain that accepts it', () => {
  test('an email is delivered over TLS, and its timeline shows the TLS version', async () => {
    const id = await appliance.send({ to: 'Ada <ada@good.test>', subject: 'Hello' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries).toMatchObject([
      { recipient: 'ada@good.test', state: 'delivered', attempts: 1, next_attempt_at: null },
    ])
    expect(timeline.events.map(({ type }) => type)).toEqual(['email.sent', 'email.delivered'])
    expect(timeline.attempts[0]!.tls).toMatchObject({ version: 'TLSv1.3', verified: false })
    expect(timeline.attempts[0]!.steps.map(({ name }) => name)).toContain('starttls')

    const [arrival] = await world.mailboxOf('mx.good.test').waitFor(1)
    expect(arrival!.envelope.to).toEqual(['ada@good.test'])
    expect(arrival!.envelope.from).toMatch(
      new RegExp(`^bounce\\+${id.replaceAll('-', '')}-[0-9a-f]{21}@send\\.sender\\.test$`),
    )
    const text = arrival!.raw.toString()
    expect(text).toMatch(/^DKIM-Signature: /)
    expect(text).toContain('Subject: Hello\r\n')
    expect(text).toContain(`Message-ID: <${id}@sender.test>\r\n`)

    const { body } = await appliance.call<Email>('GET', `/emails/${id}`)
    expect(body.last_event).toBe('delivered')
  })

  test('an email is delivered to the domain’s own host if there is no MX record', async () => {
    const id = await appliance.send({ to: 'ada@implicit.test' })
    expect((await appliance.until(id, isFinal)).deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(world.mailboxOf('implicit.test')).toHaveLength(1)
  })

  test('an email is delivered to the second exchanger if the first is down', async () => {
    const id = await appliance.send({ to: 'ada@half-dead.test' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered', attempts: 1 })
    expect(timeline.attempts[0]!.host).toBe('mx2.half-dead.test')
    const dialled = timeline.attempts[0]!.steps.filter(({ name }) => name === 'connect')
    expect(dialled.map(({ host }) => host)).toEqual(['mx1.half-dead.test', 'mx2.half-dead.test'])
    expect(dialled[0]!.note).toBe('mx1.half-dead.test refuses connections.')
  })

  test('an email is delivered in plain text if the TLS handshake fails', async () => {
    const id = await appliance.send({ to: 'ada@broken-tls.test' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered', attempts: 1 })
    expect(timeline.attempts[0]!.tls).toBeNull()
    expect(world.mailboxOf('mx.broken-tls.test')[0]!.tls).toBeNull()
  })
})

/** Checks that the record of a bounced email has its conversation, and none of its content. */
async function recordTells(id: string): Promise<void> {
  const ask = (end: string) =>
    fetch(`${appliance.url}/emails/${id}/${end}`, {
      headers: { authorization: `Bearer ${appliance.apiKey}` },
    })
  const read = async () => (await (await ask('record')).json()) as EmailRecord
  // Requests are logged soon after their responses.
  await expect.poll(async () => (await read()).requests.length).toBe(1)
  const record = await read()
  expect(record).toMatchObject({
    object: 'email_record',
    email: { id, last_event: 'bounced' },
    requests: [{ method: 'POST', endpoint: '/emails', response_status: 200 }],
    timeline: { deliveries: [{ recipient: 'nobody@strict.test', state: 'bounced' }] },
    webhooks: { data: [] },
  })
  const page = await ask('record.html')
  expect(page.headers.get('content-disposition')).toBe(`attachment; filename="${id}.html"`)
  const html = await page.text()
  expect(html).toContain('<h1>&lt;b&gt;Order&lt;/b&gt;</h1>')
  expect(html).toContain('C: RCPT TO:&lt;nobody@strict.test&gt;')
  expect(html).toContain('S: 550 5.1.1 No such user here')
  for (const text of [JSON.stringify(record), html]) expect(text).not.toContain('Private')
}

describe('a rejected email', () => {
  test('an email bounces on a permanent rejection, with the reply of the remote server', async () => {
    const id = await appliance.send({
      to: 'nobody@strict.test',
      subject: '<b>Order</b>',
      html: '<p>Private</p>',
    })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({
      state: 'bounced',
      attempts: 1,
      cause: {
        phase: 'rcpt',
        host: 'mx.strict.test',
        reply: { code: 550, enhanced: '5.1.1', text: 'No such user here' },
      },
    })
    expect(timeline.events.map(({ type }) => type)).toEqual(['email.sent', 'email.bounced'])
    expect((await appliance.call<Email>('GET', `/emails/${id}`)).body.last_event).toBe('bounced')
    await recordTells(id)
  })

  test('an email to a domain with a null MX bounces without a connection', async () => {
    const id = await appliance.send({ to: 'ada@null.test' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'bounced', cause: { phase: 'route' } })
    expect(timeline.attempts[0]!.steps.map(({ name }) => name)).toEqual(['resolve'])
  })

  test('an email is retried after a temporary rejection, and delivered', async () => {
    const id = await appliance.send({ to: 'ada@greylisting.test' })
    const delayed = await appliance.until(id, ({ events }) =>
      events.some(({ type }) => type === 'email.delivery_delayed'),
    )
    expect(delayed.deliveries[0]).toMatchObject({
      state: 'waiting',
      attempts: 1,
      cause: { reply: { code: 450 } },
    })
    expect((await appliance.call<Email>('GET', `/emails/${id}`)).body.last_event).toBe('delivery_delayed')
    await world.clock.advance(75_000)
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered', attempts: 2 })
    expect(timeline.events.map(({ type }) => type)).toEqual([
      'email.sent',
      'email.delivery_delayed',
      'email.delivered',
    ])
  })

  test('an email expires after four days of temporary rejections', async () => {
    const id = await appliance.send({ to: 'ada@never.test' })
    await appliance.until(
      id,
      ({ deliveries }) => deliveries[0]!.attempts === 1 && deliveries[0]!.cause !== null,
    )
    for (let seen = await appliance.timeline(id); !isFinal(seen);) {
      const tries = seen.attempts.length
      await world.clock.set(Date.parse(seen.deliveries[0]!.next_attempt_at!) + 10)
      seen = await appliance.until(id, ({ attempts }) => attempts.length > tries)
    }
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'expired', cause: { reply: { code: 451 } } })
    const types = timeline.events.map(({ type }) => type)
    expect(types.at(-1)).toBe('email.bounced')
    // One for the first delay, and one per day.
    expect(types.filter((type) => type === 'email.delivery_delayed').length).toBeLessThanOrEqual(4)
    expect(timeline.attempts.length).toBeGreaterThan(15)
  })
})

describe('an email without a known route', () => {
  test('an email is deferred if the name servers fail', async () => {
    const id = await appliance.send({ to: 'ada@broken-dns.test' })
    const timeline = await appliance.until(id, ({ deliveries }) => deliveries[0]!.cause !== null)
    expect(timeline.deliveries[0]).toMatchObject({
      state: 'waiting',
      attempts: 1,
      cause: { phase: 'route', reply: null },
    })
    expect(timeline.deliveries[0]!.cause!.note).toMatch(/SERVFAIL/)
  })

  test('an email is deferred if the name servers do not answer', async () => {
    const id = await appliance.send({ to: 'ada@silent-dns.test' })
    const timeline = await appliance.until(id, ({ deliveries }) => deliveries[0]!.cause !== null)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'waiting', cause: { phase: 'route' } })
  })
})

test('each recipient of an email has its own outcome', async () => {
  // It bounced earlier and is on the suppression list.
  await appliance.call('DELETE', '/suppressions/nobody@strict.test')
  const id = await appliance.send({
    to: ['ok@good.test', 'nobody@strict.test', 'somebody@strict.test'],
    cc: ['no@null.test'],
    bcc: ['hidden@good.test', 'wait@broken-dns.test'],
  })
  const timeline = await appliance.until(id, ({ deliveries }) =>
    deliveries.every(({ cause }) => cause !== null),
  )
  expect(Object.fromEntries(timeline.deliveries.map(({ recipient, state }) => [recipient, state]))).toEqual({
    'ok@good.test': 'delivered',
    'nobody@strict.test': 'bounced',
    'somebody@strict.test': 'delivered',
    'no@null.test': 'bounced',
    'hidden@good.test': 'delivered',
    'wait@broken-dns.test': 'waiting',
  })
  const arrival = world.mailboxOf('mx.good.test').at(-1)!
  expect(arrival.envelope.to.sort()).toEqual(['hidden@good.test', 'ok@good.test'])
  expect(arrival.raw.toString()).not.toContain('hidden@')
})

test('queued mail survives a restart', async () => {
  world.exchanger('mx.good.test').behave(on('rcpt', '450 4.3.2 Maintenance', { times: 1 }))
  const id = await appliance.send({ to: 'later@good.test' })
  await appliance.until(id, ({ deliveries }) => deliveries[0]!.cause !== null)
  await appliance.restart()
  await world.clock.advance(75_000)
  expect((await appliance.until(id, isFinal)).deliveries[0]).toMatchObject({
    state: 'delivered',
    attempts: 2,
  })
})

test('an email to a mail exchanger in a private network fails with the setting to change', async () => {
  const id = await appliance.send({ to: 'ada@intranet.test' })
  const { deliveries } = await appliance.until(id, isFinal)
  expect(deliveries).toMatchObject([
    {
      state: 'failed',
      attempts: 1,
      cause: {
        note: "The mail exchanger's address 10.0.0.5 is in a private network (RFC 1918). To deliver there, add it to delivery.allow_networks.",
      },
    },
  ])
})
