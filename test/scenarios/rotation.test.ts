import { authenticate } from 'mailauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createResolver } from '../../appliance/dns/resolver.ts'
import type { DkimRotation } from '../../appliance/api/dkim-keys.ts'
import type { Domain } from '../../appliance/api/domains.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { instantOf, testDomain, type TestDomain } from '../world/domains.ts'
import { createWorld, type World } from '../world/world.ts'
import { createMailauthResolver } from '../../appliance/verification/verification.ts'

let world: World
let appliance: TestAppliance
let domain: TestDomain

beforeAll(async () => {
  world = await createWorld({
    domains: { 'good.test': { mx: [{ preference: 10, host: 'mx.good.test', exchanger: {} }] } },
  })
  appliance = await startAppliance({ world })
  const { body } = await appliance.call<Domain>('POST', '/domains', { name: 'rotating.test' })
  domain = testDomain(appliance, world, body.id)
})

afterAll(async () => {
  await appliance.close()
  await world.close()
})

/** Sends an email and verifies it now, as a receiver would. Returns `selector result` for each signature. */
async function signatures(): Promise<string[]> {
  const id = await appliance.send({ from: 'hello@rotating.test', to: 'ada@good.test' })
  await appliance.until(id, isFinal)
  return verify(world.mailboxOf('mx.good.test').at(-1)!.raw)
}

async function verify(raw: Buffer): Promise<string[]> {
  const { clock, dnsServers: servers } = world
  const resolver = createResolver({ servers, clock })
  try {
    const { dkim } = await authenticate(raw, {
      ip: '127.0.0.1',
      helo: 'mail.sender.test',
      sender: 'hello@rotating.test',
      mta: 'test',
      resolver: createMailauthResolver(resolver),
      disableArc: true,
      disableBimi: true,
    })
    return dkim.results.map(({ selector, status }) => `${selector} ${status.result}`)
  } finally {
    resolver.close()
  }
}

const states = ({ dkim_keys }: Domain) => dkim_keys.map(({ selector, state }) => `${selector} ${state}`)
const isEd25519 = ({ fqdn }: { fqdn: string }) => fqdn.includes('ed25519')

// The tests build on each other and must run in order.
test('a domain signs with RSA at first, and also with Ed25519 once the Ed25519 record is found', async () => {
  await domain.publish((record) => !isEd25519(record))
  await appliance.call('POST', `/domains/${domain.id}/verify`)
  const first = await domain.lookUntil(({ status }) => status === 'verified', 2)
  expect(states(first)).toEqual(['posthaste active', 'posthaste-ed25519 pending'])
  expect(await signatures()).toEqual(['posthaste pass'])
  await domain.publish()
  expect(states(await domain.look())).toEqual(['posthaste active', 'posthaste-ed25519 active'])
  expect((await signatures()).toSorted()).toEqual(['posthaste pass', 'posthaste-ed25519 pass'])
})

let inFlight: Buffer
let next: { rsa: string; ed25519: string }

test('a rotation changes nothing until the new record is found', async () => {
  const { body } = await appliance.call<DkimRotation>('POST', `/domains/${domain.id}/dkim/rotate`)
  const [rsa, ed25519] = body.dkim_keys.map(({ selector }) => selector) as [string, string]
  next = { rsa, ed25519 }
  const waiting = await domain.look()
  expect(waiting).toMatchObject({ status: 'verified', failing_since: null })
  expect(states(waiting)).toEqual([
    'posthaste active',
    'posthaste-ed25519 active',
    `${rsa} pending`,
    `${ed25519} pending`,
  ])
  // A key that is about to take over is checked soon, not only the next day.
  expect(instantOf(waiting.next_check_at) - instantOf(waiting.checked_at)).toBeLessThan(3_600_000)
  expect((await signatures()).toSorted()).toEqual(['posthaste pass', 'posthaste-ed25519 pass'])
  inFlight = world.mailboxOf('mx.good.test').at(-1)!.raw
})

test('the new key takes over when its record is found, and the old record is kept for mail in flight', async () => {
  await domain.publish((record) => !isEd25519(record))
  const turned = await domain.lookUntil(({ dkim_keys }) => dkim_keys[0]!.state === 'retiring', 3)
  expect(turned.status).toBe('verified')
  expect(states(turned)).toEqual([
    'posthaste retiring',
    'posthaste-ed25519 active',
    `${next.rsa} active`,
    `${next.ed25519} pending`,
  ])
  expect(instantOf(turned.dkim_keys[0]!.retires_at) - instantOf(turned.checked_at)).toBe(7 * 24 * 3_600_000)
  const old = turned.records.find(({ fqdn }) => fqdn.startsWith('posthaste._domainkey'))!
  expect(old).toMatchObject({
    required: false,
    advice: expect.stringMatching(/^Keep this record until \d/) as string,
  })
  expect((await signatures()).toSorted()).toEqual([`${next.rsa} pass`, 'posthaste-ed25519 pass'].toSorted())
  expect((await verify(inFlight)).toSorted()).toEqual(['posthaste pass', 'posthaste-ed25519 pass'])
  await domain.publish()
  await domain.lookUntil(({ dkim_keys }) => dkim_keys[1]!.state === 'retiring', 3)
  expect((await signatures()).toSorted()).toEqual([`${next.rsa} pass`, `${next.ed25519} pass`].toSorted())
})

test('after a week the old keys are retired and erased, and their records can be removed', async () => {
  const done = await domain.lookUntil(
    ({ dkim_keys }) => dkim_keys.every(({ state }) => state === 'active' || state === 'retired'),
    20,
  )
  expect(states(done)).toEqual([
    'posthaste retired',
    'posthaste-ed25519 retired',
    `${next.rsa} active`,
    `${next.ed25519} active`,
  ])
  expect(done.dkim_keys[0]!.note).toMatch(/Its record can be removed\.$/)
  expect(done.records.filter(({ record }) => record === 'DKIM')).toHaveLength(2)
  const stored = await appliance.appliance.storage.dkimKeys({ domainId: domain.id }, world.clock.now())
  expect(stored.map(({ privateKey }) => privateKey.length > 0)).toEqual([false, false, true, true])
  for (const selector of ['posthaste', 'posthaste-ed25519'])
    world.dns.set(`${selector}._domainkey.rotating.test`, 'NXDOMAIN')
  expect(await domain.look()).toMatchObject({ status: 'verified', failing_since: null })
  expect((await signatures()).toSorted()).toEqual([`${next.rsa} pass`, `${next.ed25519} pass`].toSorted())
})
