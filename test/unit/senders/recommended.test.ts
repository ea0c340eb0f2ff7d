import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { computeStatusLights, lookUpOptionalRecords } from '../../../appliance/senders/recommended.ts'
import { NO_REGIONS } from '../../../appliance/mail/region.ts'
import type { Domain, RecordCheck } from '../../../appliance/storage/storage.ts'
import { createWorld, type World } from '../../world/world.ts'
import { isReportable } from '../../../appliance/senders/check-domain.ts'

const NO_WAYS = { sources: [], assignments: [], regions: NO_REGIONS }
let world: World
const closing: (() => void)[] = []

beforeAll(async () => {
  world = await createWorld({ domains: {} })
})
afterEach(() => closing.splice(0).forEach((close) => close()))
afterAll(() => world.close())

async function found(domain: string): Promise<[key: string, status: string, found: string[]][]> {
  const resolver = createResolver({ servers: world.dnsServers, clock: systemClock })
  closing.push(() => resolver.close())
  const opinions = await lookUpOptionalRecords(resolver, domain)
  const twice = opinions.filter(({ status }) => status === 'failed')
  expect(opinions.flatMap(({ note }) => note ?? [])).toEqual(
    twice.map((): unknown =>
      expect.stringMatching(
        /^There are 2 such records at \S+, so receivers ignore all of them\. Keep one\.$/,
      ),
    ),
  )
  return opinions.map(({ key, status, found }) => [key, status, found])
}

test('recognizes recommended records by their version tag', async () => {
  world.dns.set('_mta-sts.has.test', { TXT: ['unrelated', 'v=STSv1; id=20261122'] })
  world.dns.set('_smtp._tls.has.test', { TXT: ['v=TLSRPTv1; rua=mailto:tls@has.test', 'v=TLSRPTv1;rua=x'] })
  world.dns.set('default._bimi.has.test', { TXT: ['v=BIMI10; l=https://has.test/logo.svg'] })
  expect(await found('has.test')).toEqual([
    ['MTA-STS', 'verified', ['v=STSv1; id=20261122']],
    ['TLS-RPT', 'failed', ['v=TLSRPTv1; rua=mailto:tls@has.test', 'v=TLSRPTv1;rua=x']],
    ['BIMI', 'pending', []],
  ])
  world.dns.set('_mta-sts.broken.test', 'SERVFAIL')
  expect((await found('broken.test'))[0]).toEqual(['MTA-STS', 'temporary_failure', []])
})

const check = (key: string, status: RecordCheck['status']): RecordCheck => ({
  key,
  status,
  found: [],
  note: null,
  checkedAt: 0,
  since: 0,
})
const statuses = (checks: RecordCheck[]): string[] =>
  computeStatusLights({ id: 'd', teamId: 't', region: 'us-east-1', checks }, NO_WAYS).map(
    ({ name, status }) => `${name} ${status}`,
  )

test('a status light shows the worst result of its kind, but one working DKIM key is enough', () => {
  expect(statuses([])).toEqual(
    ['SPF', 'DKIM', 'DMARC', 'MTA-STS', 'TLS-RPT', 'BIMI', 'PTR'].map((name) => `${name} not_started`),
  )
  expect(
    statuses([
      check('DKIM one', 'pending'),
      check('DKIM two', 'verified'),
      check('SPF MX', 'failed'),
      check('SPF', 'verified'),
      check('DMARC', 'temporary_failure'),
      check('Tracking links', 'failed'),
      check('BIMI', 'verified'),
    ]),
  ).toEqual([
    'SPF failed',
    'DKIM verified',
    'DMARC temporary_failure',
    'MTA-STS not_started',
    'TLS-RPT not_started',
    'BIMI verified',
    'PTR not_started',
  ])
  expect(statuses([check('DKIM one', 'pending'), check('DKIM two', 'failed')])[1]).toBe('DKIM failed')
})

test('a status light has a note if no listed record of the domain explains it', () => {
  const twice = { ...check('TLS-RPT', 'failed'), note: 'There are 2 of them.' }
  const spf = { ...check('SPF', 'failed'), note: 'Its record says this.' }
  const lights = computeStatusLights(
    { id: 'd', teamId: 't', region: 'us-east-1', checks: [twice, spf] },
    NO_WAYS,
  )
  expect(lights.filter(({ note }) => note !== null)).toEqual([
    { name: 'TLS-RPT', status: 'failed', note: 'There are 2 of them.' },
    {
      name: 'PTR',
      status: 'not_started',
      note: 'No sending IP is known yet. The server records them when it starts.',
    },
  ])
})

test('a change of optional records alone emits no event', () => {
  const domain = (checks: RecordCheck[]) => ({ status: 'verified', checks }) as unknown as Domain
  const before = domain([check('SPF', 'verified')])
  expect(isReportable(before, domain([check('SPF', 'verified'), check('BIMI', 'verified')]))).toBe(false)
  expect(isReportable(before, domain([check('SPF', 'failed'), check('BIMI', 'verified')]))).toBe(true)
})
