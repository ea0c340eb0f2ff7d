import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Domain } from '../../appliance/api/domains.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { on } from '../world/behaviour.ts'
import { instantOf, testDomain, type TestDomain } from '../world/domains.ts'
import { createWorld, type World } from '../world/world.ts'

const hour = 3_600_000

let world: World
let appliance: TestAppliance

beforeAll(async () => {
  world = await createWorld({
    domains: {
      'good.test': { mx: [{ preference: 10, host: 'mx.good.test', exchanger: { tls: 'self-signed' } }] },
      'plain.test': { mx: [{ preference: 10, host: 'mx.plain.test', exchanger: {} }] },
      'later.test': {
        mx: [{ preference: 10, host: 'mx.later.test', exchanger: { behave: on('rcpt', '450 4.2.0 Later') } }],
      },
    },
  })
  appliance = await startAppliance({ world })
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

async function add(name: string): Promise<TestDomain> {
  const { body } = await appliance.call<Domain>('POST', '/domains', { name })
  return testDomain(appliance, world, body.id)
}

const verify = (domain: TestDomain) => appliance.call('POST', `/domains/${domain.id}/verify`)

async function verified(name: string): Promise<TestDomain> {
  const domain = await add(name)
  await domain.publish()
  await verify(domain)
  await domain.lookUntil(({ status }) => status === 'verified', 2)
  return domain
}

const sendFrom = (name: string, ...to: string[]) =>
  appliance.call<{ id: string; message: string }>('POST', '/emails', {
    from: `hello@${name}`,
    to,
    subject: 'Subject',
    text: 'Text',
  })

describe('a domain being verified', () => {
  test('a domain is verified in the background as soon as its records are published', async () => {
    const domain = await add('slow.test')
    await verify(domain)
    const early = await domain.look()
    expect(early).toMatchObject({ status: 'pending', records: [{ status: 'pending' }, {}, {}, {}] })
    const begun = instantOf(early.status_since)
    const waiting = await domain.lookUntil(({ checked_at }) => instantOf(checked_at) - begun > 20 * hour)
    expect(waiting.status).toBe('pending')
    expect((await sendFrom('slow.test', 'ada@good.test')).body.message).toMatch(/is not verified/)
    await domain.publish()
    const done = await domain.look()
    expect(done).toMatchObject({ status: 'verified', gives_up_at: null, failing_since: null })
    expect(done.records.map(({ status, note }) => [status, note])).toEqual(
      Array.from({ length: 4 }, () => ['verified', null]),
    )
    expect((await sendFrom('slow.test', 'ada@good.test')).status).toBe(200)
  })

  test('a domain fails after 72 hours without its records, and recovers by itself when they appear', async () => {
    const domain = await add('too-slow.test')
    await verify(domain)
    const { gives_up_at: end, status_since: begun } = await domain.get()
    expect(instantOf(end) - instantOf(begun)).toBe(72 * hour)
    const failed = await domain.lookUntil(({ status }) => status === 'failed', 80)
    expect(instantOf(failed.status_since) - instantOf(end)).toBeLessThan(60_000)
    expect(failed.records[0]!.note).toMatch(
      /^Nothing is published at posthaste\._domainkey\.too-slow\.test\./,
    )
    await domain.publish()
    expect((await domain.look()).status).toBe('verified')
  })

  test('verification of a domain continues after a restart of the daemon', async () => {
    const domain = await add('restart.test')
    await verify(domain)
    await domain.look()
    await domain.publish()
    await appliance.restart()
    expect((await domain.look()).status).toBe('verified')
  })
})

describe('a verified domain', () => {
  test('a verified domain is checked again every day, at varying times', async () => {
    const domain = await verified('daily.test')
    const { checked_at, next_check_at } = await domain.get()
    const wait = instantOf(next_check_at) - instantOf(checked_at)
    expect(wait).toBeGreaterThanOrEqual(24 * hour)
    expect(wait).toBeLessThanOrEqual(26.4 * hour)
    expect((await domain.look()).status).toBe('verified')
  })

  test('a broken record is reported at once, stops sending only after a second check, and recovers by itself', async () => {
    const domain = await verified('breaks.test')
    world.dns.set('posthaste._domainkey.breaks.test', 'NXDOMAIN')
    const first = await domain.look()
    expect(first).toMatchObject({ status: 'verified', failing_since: first.checked_at })
    expect(first.records[0]).toMatchObject({ status: 'pending', since: first.checked_at })
    expect((await sendFrom('breaks.test', 'ada@good.test')).status).toBe(200)
    const second = await domain.look()
    expect(second).toMatchObject({ status: 'failed', status_since: second.checked_at, failing_since: null })
    expect(second.records[0]).toMatchObject({ status: 'pending', since: first.checked_at })
    expect(instantOf(second.checked_at) - instantOf(first.checked_at)).toBeGreaterThanOrEqual(15 * 60_000)
    expect((await sendFrom('breaks.test', 'ada@good.test')).status).toBe(403)
    await domain.publish()
    expect((await domain.look()).status).toBe('verified')
  })

  test('a domain with a broken return path is partially failed, and can still send', async () => {
    const domain = await verified('half.test')
    world.dns.set('send.half.test', { MX: [{ preference: 10, exchange: 'mx.elsewhere.test' }] })
    expect((await domain.look()).status).toBe('verified')
    expect((await domain.look()).status).toBe('partially_failed')
    expect((await sendFrom('half.test', 'ada@good.test')).status).toBe(200)
    await domain.publish()
    expect((await domain.look()).status).toBe('verified')
  })

  test('a verified domain keeps sending if DNS does not answer', async () => {
    const domain = await verified('silent.test')
    for (const name of ['posthaste._domainkey', 'send']) world.dns.set(`${name}.silent.test`, 'SERVFAIL')
    for (let look = 0; look < 5; look++)
      expect(await domain.look()).toMatchObject({
        status: 'verified',
        failing_since: null,
        records: [{ status: 'temporary_failure' }, {}, {}, {}],
      })
    expect((await sendFrom('silent.test', 'ada@good.test')).status).toBe(200)
  })
})

describe('mail from a domain', () => {
  test('mail from a domain that enforces TLS is deferred with a reason if a server has no TLS', async () => {
    const domain = await verified('private.test')
    await appliance.call('PATCH', `/domains/${domain.id}`, { tls: 'enforced' })
    const { body } = await sendFrom('private.test', 'ada@plain.test', 'bob@good.test')
    const timeline = await appliance.until(body.id, ({ deliveries }) =>
      deliveries.every(({ cause }) => cause !== null),
    )
    expect(timeline.deliveries).toMatchObject([
      {
        state: 'waiting',
        cause: {
          phase: 'starttls',
          note: 'mx.plain.test does not offer TLS. The sending domain requires TLS (tls: enforced).',
        },
      },
      { state: 'delivered' },
    ])
    expect(world.mailboxOf('mx.plain.test')).toHaveLength(0)
    await appliance.call('PATCH', `/domains/${domain.id}`, { tls: 'opportunistic' })
    await world.clock.advance(hour)
    expect((await appliance.until(body.id, isFinal)).deliveries[0]).toMatchObject({ state: 'delivered' })
  })

  test('queued mail of a deleted domain fails with a reason', async () => {
    const domain = await verified('removed.test')
    const { body } = await sendFrom('removed.test', 'eve@later.test')
    await appliance.until(body.id, ({ attempts }) => attempts.length === 1)
    await appliance.call('DELETE', `/domains/${domain.id}`)
    await world.clock.advance(hour)
    const timeline = await appliance.until(body.id, isFinal)
    expect(timeline.deliveries).toMatchObject([
      { state: 'failed', cause: { note: 'The sending domain was removed before delivery.' } },
    ])
  })
})

describe('a suppressed address', () => {
  test('a suppressed address gets no mail, while other recipients do', async () => {
    await appliance.call('POST', '/suppressions', { email: 'Sue@good.test' })
    const id = await appliance.send({ to: ['ada@good.test', 'sue@good.test'], cc: 'cy@good.test' })
    const timeline = await appliance.until(id, isFinal)
    expect(timeline.deliveries.map(({ recipient, state, attempts }) => [recipient, state, attempts])).toEqual(
      [
        ['ada@good.test', 'delivered', 1],
        ['sue@good.test', 'suppressed', 0],
        ['cy@good.test', 'delivered', 1],
      ],
    )
    const note =
      'Not sent: the address is suppressed because a team member added it to the suppression list. To send to it again, remove it from the suppression list.'
    const events = timeline.events.filter(({ type }) => type === 'email.suppressed')
    expect(events).toMatchObject([{ recipient: 'sue@good.test', cause: { phase: 'queue', note } }])
    const { events: stored } = await appliance.appliance.storage.getHistory(
      { teamId: appliance.teamId, id },
      world.clock.now(),
    )
    expect(stored.find(({ type }) => type === 'email.suppressed')!.data.suppressed).toEqual({
      message: note,
      type: 'OnAccountSuppressionList',
      reason: null,
    })
    const to = world.mailboxOf('mx.good.test').flatMap(({ envelope }) => envelope.to)
    expect(to).not.toContain('sue@good.test')
  })

  test('an email to a suppressed address only is accepted, with the status suppressed', async () => {
    await appliance.call('POST', '/suppressions', { email: 'only@good.test' })
    const id = await appliance.send({ to: 'only@good.test' })
    expect((await appliance.call('GET', `/emails/${id}`)).body).toMatchObject({ last_event: 'suppressed' })
    await appliance.call('DELETE', '/suppressions/only@good.test')
    const again = await appliance.send({ to: 'only@good.test' })
    expect((await appliance.until(again, isFinal)).deliveries).toMatchObject([{ state: 'delivered' }])
  })
})
