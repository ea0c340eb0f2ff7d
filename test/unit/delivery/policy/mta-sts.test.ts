import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Storage } from '../../../../appliance/storage/storage.ts'
import { createTestClock } from '../../../world/clock.ts'
import { setUp } from '../../dns/harness.ts'
import { openTestStorage, startPolicyHost, testPolicies } from './harness.ts'
import type { TlsPolicies } from '../../../../appliance/delivery/delivery.ts'

/** Tests MTA-STS with a real HTTPS server, a real resolver and real storage. */
const DAY = 86_400_000
const domain = 'trusted.test'
const policy = (mode: string, maxAge = 604_800): string =>
  `version: STSv1\nmode: ${mode}\nmx: *.trusted.test\nmax_age: ${maxAge}\n`

let host: Awaited<ReturnType<typeof startPolicyHost>>
let opened: Awaited<ReturnType<typeof openTestStorage>>
let storage: Storage
let policies: TlsPolicies
const clock = createTestClock()
let server: Awaited<ReturnType<typeof setUp>>['server']
let again: (over?: Storage) => TlsPolicies

beforeAll(async () => {
  host = await startPolicyHost()
  opened = await openTestStorage()
  storage = opened.storage
})
afterAll(async () => {
  await opened.close()
  await host.close()
})

const publish = (id: string | undefined, name = domain): void =>
  server.set(`_mta-sts.${name}`, id === undefined ? undefined : { TXT: `v=STSv1; id=${id};`, ttl: 1 })

beforeEach(async () => {
  // A policy of an earlier test has expired.
  await clock.advance(400 * DAY)
  await storage.purgeTlsResults({ before: '9999-12-31', most: 100 }, clock.now())
  const zone = {
    'mta-sts.trusted.test': { A: '127.0.0.1' },
    'mta-sts.other.test': { A: '127.0.0.1' },
    'mta-sts.inside.test': { A: '10.0.0.1' },
  }
  const made = await setUp(zone, {}, { clock })
  server = made.server
  again = (over = storage) =>
    testPolicies({ resolver: made.resolver, clock, storage: over }, { stsPort: host.port })
  policies = again()
  host.state.asked.length = 0
})

const demand = async (mx: string, name = domain) =>
  policies.demandFor(await policies.policyFor(name, false), mx, 'opportunistic')

describe('an MTA-STS policy in mode enforce', () => {
  beforeEach(() => {
    publish('1')
    host.state.answer = { body: policy('enforce') }
  })

  test('mode enforce requires a valid certificate for a listed host, with a note', async () => {
    expect(await demand('mx.trusted.test')).toMatchObject({
      kind: 'demand',
      demand: { kind: 'verified', requireTls: false },
      note: 'MTA-STS enforce: mx.trusted.test matches *.trusted.test',
      policy: { type: 'sts', domain, mxHosts: ['*.trusted.test'] },
    })
    expect(host.state.asked).toEqual(['GET mta-sts.trusted.test /.well-known/mta-sts.txt'])
  })

  test('mode enforce skips an unlisted host, and counts that as a failure', async () => {
    expect(await demand('mx.evil.test')).toMatchObject({
      kind: 'skip',
      why: 'mx.evil.test is an MX of trusted.test, but its MTA-STS policy does not list it (*.trusted.test).',
      resultType: 'validation-failure',
    })
    await policies.flush()
    const [result] = await storage.listTlsResults({ since: '2000-01-01', domain, limit: 10 }, clock.now())
    expect(result).toMatchObject({ result: 'validation-failure', mxHost: 'mx.evil.test', sessions: 1 })
  })

  test('a policy is fetched once for concurrent lookups, and restored from storage after a restart', async () => {
    await Promise.all(Array.from({ length: 20 }, () => demand('mx.trusted.test')))
    policies = again()
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'verified' } })
    expect(host.state.asked).toHaveLength(1)
  })

  test('a policy stays in force when DNS fails, the record is gone, or the new policy cannot be fetched', async () => {
    await demand('mx.trusted.test')
    server.set('_mta-sts.trusted.test', 'SERVFAIL')
    await clock.advance(60_000)
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'verified' } })
    publish(undefined)
    await clock.advance(60_000)
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'verified' } })
    publish('2')
    host.state.answer = { status: 500, body: '' }
    await clock.advance(DAY)
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'verified' } })
  })

  test('a policy no longer applies after max_age without a new one', async () => {
    host.state.answer = { body: policy('enforce', 86_400) }
    await demand('mx.trusted.test')
    publish(undefined)
    await clock.advance(DAY + 1000)
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'opportunistic' }, note: null })
  })

  test('a policy is replaced by a new one, such as one of mode none', async () => {
    await demand('mx.trusted.test')
    publish('2')
    host.state.answer = { body: policy('none') }
    await clock.advance(60_000)
    expect(await demand('mx.evil.test')).toMatchObject({ demand: { kind: 'opportunistic' }, note: null })
  })

  test('a policy in use is refreshed before it expires', async () => {
    let checks = 0
    let due = 0
    const dueStsPolicies: Storage['dueStsPolicies'] = async (args, now) => {
      const found = await storage.dueStsPolicies(args, now)
      checks++
      due += found.length
      return found
    }
    policies = again({ ...storage, dueStsPolicies })
    host.state.answer = { body: policy('enforce', 2 * 86_400) }
    await demand('mx.trusted.test')
    policies.start()
    // Advances hours until the policy is due, within its two days. Then not, because a fetch would run out of time.
    for (let hours = 0; hours < 46 && due === 0; hours++) {
      await expect.poll(() => checks).toBeGreaterThan(hours)
      if (due === 0) await clock.advance(DAY / 24)
    }
    await expect.poll(() => host.state.asked.length).toBe(2)
    await policies.stop()
    await clock.advance(1.5 * DAY)
    publish(undefined)
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'verified' } })
  })

  test('a policy adds REQUIRETLS if the sender asks for it, and is ignored for TLS-Required: No', async () => {
    const held = await policies.policyFor(domain, false)
    expect(await policies.demandFor(held, 'mx.trusted.test', 'requiretls')).toMatchObject({
      demand: { kind: 'verified', requireTls: true },
    })
    expect(await policies.demandFor(held, 'mx.evil.test', 'unimportant')).toMatchObject({
      demand: { kind: 'opportunistic' },
    })
  })
})

test('an MTA-STS policy in mode testing blocks nothing, and failures are counted', async () => {
  publish('1')
  host.state.answer = { body: policy('testing') }
  const held = await policies.policyFor(domain, false)
  const [right, wrong] = await Promise.all([
    policies.demandFor(held, 'mx.trusted.test', 'opportunistic'),
    policies.demandFor(held, 'mx.evil.test', 'opportunistic'),
  ])
  expect([right, wrong]).toMatchObject([
    {
      kind: 'demand',
      demand: { kind: 'opportunistic' },
      note: 'MTA-STS testing: mx.trusted.test matches *.trusted.test',
    },
    { kind: 'demand', demand: { kind: 'opportunistic' } },
  ])
  const session = {
    resultType: 'successful-session',
    webPki: 'successful-session',
    reason: null,
    sendingIp: '192.0.2.1',
    receivingHost: 'mx.trusted.test',
    receivingIp: '192.0.2.2',
  } as const
  if (right.kind === 'skip' || wrong.kind === 'skip') throw new Error('skipped')
  policies.record(held, right, 'opportunistic', session)
  policies.record(held, right, 'opportunistic', {
    ...session,
    webPki: 'certificate-expired',
    reason: 'has expired',
  })
  policies.record(held, wrong, 'opportunistic', { ...session, receivingHost: 'mx.evil.test' })
  // TLS reports have TLS-Required: No, so their own delivery isn't counted.
  policies.record(held, wrong, 'unimportant', session)
  await policies.flush()
  const results = await storage.listTlsResults({ since: '2000-01-01', domain, limit: 10 }, clock.now())
  expect(results.map(({ result, mxHost, sessions }) => [result, mxHost, sessions])).toEqual([
    ['certificate-expired', 'mx.trusted.test', 1],
    ['success', '', 1],
    ['validation-failure', 'mx.evil.test', 1],
  ])
})

describe('domains without an MTA-STS policy', () => {
  test.each<[string, Parameters<typeof answerWith>[0], string, string]>([
    [
      'a 404 response',
      { status: 404, body: '' },
      'sts-policy-fetch-error',
      'returned status 404 instead of 200',
    ],
    [
      'a redirect',
      { status: 302, body: '', location: 'https://mta-sts.trusted.test/' },
      'sts-policy-fetch-error',
      'redirects',
    ],
    [
      'a wrong content type',
      { type: 'text/html', body: policy('enforce') },
      'sts-policy-invalid',
      'is not of type text/plain',
    ],
    ['a malformed policy', { body: 'hello' }, 'sts-policy-invalid', 'has a line that is not "name: value"'],
    [
      'a policy larger than 64 KiB',
      { body: `${policy('enforce')}${'x: y\n'.repeat(20_000)}` },
      'sts-policy-invalid',
      'is larger than 64 KiB',
    ],
    ['a broken connection', null, 'sts-policy-fetch-error', 'is on a host that cannot be reached'],
  ])('no policy applies with %s', async (_, answer, resultType, why) => {
    answerWith(answer)
    publish('1')
    const { sts } = await policies.policyFor(domain, false)
    const url = `https://mta-sts.trusted.test:${host.port}/.well-known/mta-sts.txt`
    expect(sts).toEqual({ held: null, trouble: { resultType, why: `The MTA-STS policy ${url} ${why}.` } })
    expect(await demand('mx.trusted.test')).toMatchObject({ demand: { kind: 'opportunistic' } })
    // Not requested again at once (RFC 8461 §3.3).
    expect(host.state.asked).toHaveLength(1)
    await clock.advance(6 * 60_000)
    await policies.policyFor(domain, false)
    expect(host.state.asked).toHaveLength(2)
  })
  const answerWith = (answer: typeof host.state.answer): void => void (host.state.answer = answer)

  test('no policy applies if the certificate is for another name', async () => {
    host.state.answer = { body: policy('enforce') }
    publish('1', 'other.test')
    const { sts } = await policies.policyFor('other.test', false)
    expect(sts).toMatchObject({ held: null, trouble: { resultType: 'sts-webpki-invalid' } })
    expect(host.state.asked).toEqual([])
  })

  test('no policy applies if the policy host is in a private network', async () => {
    publish('1', 'inside.test')
    const { sts } = await policies.policyFor('inside.test', false)
    expect(sts.trouble?.why).toContain('must be on a host with a public address')
  })

  test('no policy applies with duplicate TXT records, or for an address literal', async () => {
    server.set('_mta-sts.trusted.test', { TXT: ['v=STSv1; id=1', 'v=STSv1; id=2'] })
    expect((await policies.policyFor(domain, false)).sts.trouble?.why).toBe(
      'The TXT record _mta-sts.trusted.test exists more than once.',
    )
    expect((await policies.policyFor('[192.0.2.1]', false)).sts).toEqual({ held: null, trouble: null })
    expect(host.state.asked).toEqual([])
  })
})
