import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Timeline } from '../../appliance/api/timeline.ts'
import { isFinal, startAppliance, type TestAppliance } from '../world/appliance.ts'
import { createCertificates } from '../world/certificates.ts'
import { type Dnssec, startDnssec } from '../world/dnssec.ts'
import { type Postfix, startPostfix } from '../world/postfix.ts'
import type { ZoneRecords } from '../../appliance/sandbox/zone.ts'
import { parseNetworks } from '../../appliance/wire/networks.ts'
import { tlsFile } from '../world/tls.ts'
import { createWorld, type World, type WorldDomain, type WorldHost } from '../world/world.ts'

/**
 * Tests the TLS policies of recipient domains through the whole appliance: DANE with a validating unbound, and MTA-STS
 * over real HTTPS.
 */
let world: World
let appliance: TestAppliance
let dnssec: Dnssec
let postfix: Postfix
let policyHost: Server
let closeCertificates: () => Promise<void>
const cleanups: (() => unknown)[] = []

/** Returns the SHA-256 of a certificate's public key: the data of a `3 1 1` TLSA record. */
const spki = (pem: string): string => {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(key).digest('hex')
}
const WRONG = 'ee'.repeat(32)
const BOGUS = 'ff'.repeat(32)

const STS: Record<string, string | null> = {
  'ok.test': 'version: STSv1\nmode: enforce\nmx: mx.ok.test\nmax_age: 86400\n',
  'badcert.test': 'version: STSv1\nmode: enforce\nmx: *.badcert.test\nmax_age: 86400\n',
  'badmx.test': 'version: STSv1\nmode: enforce\nmx: other.badmx.test\nmax_age: 86400\n',
  'plain.test': 'version: STSv1\nmode: enforce\nmx: mx.plain.test\nmax_age: 86400\n',
  'testing.test': 'version: STSv1\nmode: testing\nmx: other.testing.test\nmax_age: 86400\n',
  'gone.test': null,
}

async function startPolicyHost(certificate: { key: string; cert: string }): Promise<number> {
  policyHost = createServer(certificate, (request, response) => {
    const body = STS[request.headers.host!.replace(/^mta-sts\./, '').replace(/:.*$/, '')]
    response.writeHead(body ? 200 : 404, { 'content-type': 'text/plain' }).end(body ?? '')
  })
  policyHost.listen(0, '127.0.0.1')
  await once(policyHost, 'listening')
  return (policyHost.address() as AddressInfo).port
}

beforeAll(async () => {
  const maker = await createCertificates()
  closeCertificates = () => maker.close()
  const ca = await maker.make({ name: 'Authority', ca: true })
  const names = Object.keys(STS)
  const forHosts = await maker.make({
    name: 'policies',
    by: ca,
    hosts: names.map((name) => `mta-sts.${name}`),
  })
  const forMx = await maker.make({ name: 'mx', by: ca, hosts: ['mx.ok.test', 'mx.badmx.test'] })
  setDefaultCACertificates([...getCACertificates(), ca.cert])
  const port = await startPolicyHost(forHosts)

  const valid = { tls: 'trusted', smtp: { key: forMx.key, cert: forMx.cert } } as const
  const own = { tls: 'self-signed' } as const
  const domain = (name: string, exchanger: WorldHost, host = `mx.${name}`): [string, WorldDomain] => [
    name,
    { mx: [{ preference: 10, host, exchanger }] },
  ]
  world = await createWorld({
    domains: Object.fromEntries<WorldDomain>([
      domain('right.signed.test', own),
      domain('wrong.signed.test', own),
      domain('bogus.signed.test', own),
      domain('free.signed.test', {}),
      domain('insecure.test', own),
      domain('ok.test', valid),
      domain('badcert.test', own),
      domain('badmx.test', valid),
      domain('plain.test', {}),
      domain('testing.test', own),
      domain('gone.test', own),
    ]),
    names: Object.fromEntries<ZoneRecords>(
      names.flatMap((name): [string, ZoneRecords][] => [
        [`mta-sts.${name}`, { A: '127.0.0.1' }],
        [`_mta-sts.${name}`, { TXT: 'v=STSv1; id=1;' }],
      ]),
    ),
  })
  world.dns.set(`_${world.deliveryPort}._tcp.mx.insecure.test`, {
    TLSA: { usage: 3, selector: 1, matching: 1, data: WRONG },
    authentic: true, // said by a server that validates nothing
  })
  const tlsa = `_${world.deliveryPort}._tcp`
  const right = spki(tlsFile('self-signed.pem'))
  const data: Record<string, string | null> = { right, wrong: WRONG, bogus: BOGUS, free: null }
  dnssec = await startDnssec({
    zone: 'signed.test',
    records: Object.entries(data).flatMap(([name, digest]) => [
      `${name} IN MX 10 mx.${name}`,
      `mx.${name} IN A ${world.exchanger(`mx.${name}.signed.test`).address}`,
      ...(digest ? [`${tlsa}.mx.${name} IN TLSA 3 1 1 ${digest}`] : []),
    ]),
    forge: (signed) => signed.replace(BOGUS, right),
    elsewhere: { server: world.dnsServers[0]!, names: ['sender.test', 'insecure.test', ...names] },
  })
  appliance = await startAppliance({
    world,
    config: { dns: { servers: [dnssec.server], trust_ad: true } },
    policyHosts: { port, ca: ca.cert, allowNetworks: parseNetworks(['127.0.0.0/8']) },
  })
})

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup()
  await appliance.close()
  policyHost.close()
  await dnssec.close()
  await world.close()
  await closeCertificates()
})

const tried = ({ attempts }: Timeline): boolean => attempts.length > 0
const notes = ({ attempts }: Timeline): (string | null)[] =>
  attempts.flatMap(({ steps }) => steps.filter(({ name }) => name === 'policy').map(({ note }) => note))

async function send(domain: string): Promise<Timeline> {
  const id = await appliance.send({ to: `ada@${domain}` })
  return appliance.until(id, tried)
}

describe('DANE', () => {
  test('DANE delivers to a host with a matching record, and the transcript shows it', async () => {
    const timeline = await send('right.signed.test')
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(notes(timeline)).toEqual([
      expect.stringMatching(/^DANE: TLSA of mx\.right\.signed\.test: 3 1 1 [0-9a-f]{16}…$/),
    ])
    expect(timeline.attempts[0]!.tls).toMatchObject({ verified: true, by: 'dane' })
  })

  test.each([
    ['wrong.signed.test', 'none of the TLSA records'],
    ['bogus.signed.test', 'could not be looked up'],
  ])('DANE defers mail for %s', async (domain, why) => {
    const timeline = await send(domain)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'waiting' })
    expect(timeline.deliveries[0]!.cause!.note).toContain(why)
    expect(world.mailboxOf(`mx.${domain}`).length).toBe(0)
  })

  test.each(['free.signed.test', 'insecure.test'])('DANE does not apply to %s', async (domain) => {
    const timeline = await send(domain)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(notes(timeline)).toEqual([])
  })
})

describe('MTA-STS', () => {
  test('MTA-STS in enforce mode delivers to a listed host with a valid certificate', async () => {
    const timeline = await send('ok.test')
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(notes(timeline)).toEqual(['MTA-STS enforce: mx.ok.test matches mx.ok.test'])
    expect(timeline.attempts[0]!.tls).toMatchObject({ verified: true, by: 'pkix' })
  })

  test.each([
    ['badcert.test', 'certificate'],
    ['badmx.test', 'its MTA-STS policy does not list it (other.badmx.test)'],
    ['plain.test', 'TLS'],
  ])('MTA-STS in enforce mode defers mail for %s', async (domain, why) => {
    const timeline = await send(domain)
    expect(timeline.deliveries[0]).toMatchObject({ state: 'waiting' })
    expect(timeline.deliveries[0]!.cause!.note).toContain(why)
    expect(world.mailboxOf(`mx.${domain}`).length).toBe(0)
  })

  test('MTA-STS in testing mode delivers despite mismatches', async () => {
    const timeline = await send('testing.test')
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(notes(timeline)).toEqual([
      'MTA-STS testing: mx.testing.test matches no mx of the policy; used anyway',
    ])
  })

  test('a missing MTA-STS policy file does not block delivery', async () => {
    const timeline = await send('gone.test')
    expect(timeline.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(notes(timeline)).toEqual([expect.stringContaining('returned status 404 instead of 200')])
  })
})

describe('a real Postfix', () => {
  let other: TestAppliance
  let signed: Dnssec
  beforeAll(async () => {
    postfix = await startPostfix({ domain: 'right.pf.test, wrong.pf.test', host: 'mx.pf.test' })
    cleanups.push(() => postfix.close())
    const digest = { right: spki(tlsFile('self-signed.pem')), wrong: WRONG }
    signed = await startDnssec({
      zone: 'pf.test',
      records: Object.entries(digest).flatMap(([name, data]) => [
        `${name} IN MX 10 mx.${name}`,
        `mx.${name} IN A ${postfix.address}`,
        `_25._tcp.mx.${name} IN TLSA 3 1 1 ${data}`,
      ]),
      elsewhere: { server: world.dnsServers[0]!, names: ['sender.test'] },
    })
    cleanups.push(() => signed.close())
    const { config } = appliance
    other = await startAppliance({
      world,
      config: {
        dns: { servers: [signed.server], trust_ad: true },
        delivery: { ...config.delivery, port: 25 },
      },
    })
    cleanups.unshift(() => other.close())
  })

  test('Postfix gets mail if its TLSA record matches, and none otherwise', async () => {
    const ids = await Promise.all(['right', 'wrong'].map((name) => other.send({ to: `ada@${name}.pf.test` })))
    const right = await other.until(ids[0]!, isFinal)
    const wrong = await other.until(ids[1]!, tried)
    expect(right.deliveries[0]).toMatchObject({ state: 'delivered' })
    expect(wrong.deliveries[0]).toMatchObject({ state: 'waiting' })
    expect(await postfix.waitFor(1)).toHaveLength(1)
  })
})
