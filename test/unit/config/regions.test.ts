import { expect, test } from 'vitest'
import { loadConfig } from '../../../appliance/config/config.ts'

const POSTGRES = {
  POSTHASTE_STORAGE__ENGINE: 'postgres',
  POSTHASTE_STORAGE__URL: 'postgres://posthaste@localhost/posthaste?host=/run/postgresql',
}
const load = (env: Record<string, string>) =>
  loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.acme.example', ...env }, defaultFile: '/nonexistent' })
const complaints = (env: Record<string, string>): string[] => {
  const loaded = load(env)
  return 'complaints' in loaded ? loaded.complaints.map(({ message }) => message) : []
}
const region = { POSTHASTE_REGION: 'eu-west-1' }
const target = { POSTHASTE_FAILOVER__REGION: 'us-east-1' }

test('no region and no fail-over are set by default, and both can be set with PostgreSQL', () => {
  const plain = load({})
  expect('config' in plain && [plain.config.region, plain.config.failover.region]).toEqual([
    undefined,
    undefined,
  ])
  const set = load({ ...POSTGRES, ...region, ...target })
  expect('config' in set && [set.config.region, set.config.failover]).toEqual([
    'eu-west-1',
    { region: 'us-east-1', after_seconds: 900 },
  ])
  expect(complaints(region)).toEqual([])
})

test.each([
  [{ ...region, ...target }, 'failover.region has no effect unless storage.engine is "postgres".'],
  [{ ...POSTGRES, ...target }, 'failover.region requires region, the region of this machine.'],
  [
    { ...POSTGRES, ...region, POSTHASTE_FAILOVER__REGION: 'eu-west-1' },
    'failover.region is the region of this machine. Name another one.',
  ],
  [
    { ...POSTGRES, ...region, POSTHASTE_FAILOVER__AFTER_SECONDS: '60' },
    'failover.after_seconds has no effect without failover.region.',
  ],
])('rejects %j', (env, message) => {
  expect(complaints(env)).toEqual([message])
})

test('rejects a region that is not a name, and a delay shorter than a node takes to be lost', () => {
  expect(complaints({ POSTHASTE_REGION: 'EU West' })[0]).toMatch(/^region is "EU West"; expected up to 50/)
  const short = { ...POSTGRES, ...region, ...target, POSTHASTE_FAILOVER__AFTER_SECONDS: '14' }
  expect(complaints(short)[0]).toMatch(/^failover\.after_seconds is 14; expected/)
})
