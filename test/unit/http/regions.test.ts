import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limitToRegion } from '../../../appliance/events/metrics-pieces.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
/** The owner of a team that doesn't operate the server. */
let tenant: string

beforeAll(async () => {
  api = await startApi({})
  const now = api.clock.now()
  const team = { id: newId(now), name: 'Other', createdAt: now }
  const user = {
    id: newId(now),
    email: 'o@other.example',
    passwordHash: null,
    provenAt: null,
    createdAt: now,
  }
  await api.storage.createOwner({ team, user }, now)
  tenant = await join(api, { role: 'owner', team: team.id })
  await api.call('POST', '/sources', { ip: '192.0.2.9', pool: 'eu' })
  await api.call('PATCH', '/sources/pools/eu', { region: 'eu-west-1' })
  await api.call('PATCH', '/sources/pools/default', { region: api.domain.region })
})
afterAll(() => api.close())

const region = async (name: string) => {
  const { json } = await api.call('GET', '/regions')
  return (json as { data: { name: string }[] }).data.find((one) => one.name === name)
}

describe('GET /regions', () => {
  test('lists the regions of pools and domains', async () => {
    expect(await region('eu-west-1')).toEqual({
      object: 'region',
      name: 'eu-west-1',
      pools: ['eu'],
      nodes: { alive: [], gone: [] },
      domains: 0,
      fail_over: null,
      failed_over: null,
    })
    expect(await region(api.domain.region)).toMatchObject({ pools: ['default'], domains: 2 })
  })

  test('shows where the mail of a region leaves from during a fail-over', async () => {
    const now = api.clock.now()
    const entry = {
      id: newId(now),
      teamId: null,
      at: now,
      actor: 'posthaste',
      actorKind: 'system' as const,
      actorName: null,
      ip: null,
      action: 'region.fail_over' as const,
      target: 'region eu-west-1',
      targetName: 'eu-west-1',
      before: null,
      after: null,
      details: {},
    }
    const failover = { region: 'eu-west-1', target: api.domain.region, since: now, auditId: entry.id }
    await api.storage.beginFailover({ failover, entry }, now)
    expect(await region('eu-west-1')).toMatchObject({ failed_over: { region: api.domain.region } })
    await api.storage.endFailover({ region: 'eu-west-1', entry: { ...entry, id: newId(now) } }, now)
    expect(await region('eu-west-1')).toMatchObject({ failed_over: null })
  })
})

describe('GET /regions/:region/failover', () => {
  const preview = (from: string, query = '') => api.call('GET', `/regions/${from}/failover${query}`)

  test('shows the SPF result of each domain for the IPs of the other region', async () => {
    const { status, json } = await preview(api.domain.region, '?to=EU-West-1')
    const { domains, ...rest } = json as { domains: { id: string }[] }
    expect([status, rest, domains.find(({ id }) => id === api.domain.id)]).toEqual([
      200,
      {
        object: 'failover_preview',
        region: api.domain.region,
        to: 'eu-west-1',
        pool: 'eu',
        ips: ['192.0.2.9'],
        total: 2,
      },
      {
        id: api.domain.id,
        name: api.domain.name,
        team_id: api.teamId,
        return_path: `${api.domain.returnPath}.${api.domain.name}`,
        covered: false,
        results: [{ ip: '192.0.2.9', result: 'temperror' }],
      },
    ])
    expect((await preview('eu-west-1', `?to=${api.domain.region}`)).json).toMatchObject({
      domains: [],
      total: 0,
    })
  })

  test.each([
    ['nowhere', '?to=eu-west-1', 404, 'Region nowhere not found'],
    ['eu-west-1', '', 422, 'Missing `to` field.'],
    ['eu-west-1', '?to=eu-west-1', 422, 'Invalid `to` field: another region: us-east-1.'],
  ])('rejects %s%s', async (from, query, status, message) => {
    const answer = await preview(from, query)
    expect([answer.status, (answer.json as { message: string }).message]).toEqual([status, message])
  })
})

test.each(['/regions', '/regions/eu-west-1/failover', '/sources/pools'])(
  'GET %s is only for the team that operates the server',
  async (path) => {
    const { status } = await ask(`${api.url}${path}`, 'GET', undefined, { cookie: tenant })
    expect(status).toBe(403)
  },
)

test('the queue can be filtered by region and node', async () => {
  const body = { from: `a@${api.domain.name}`, to: 'b@reader.example', subject: 'Hello', text: 'Hello' }
  const { id } = (await api.call('POST', '/emails', body)).json as { id: string }
  const count = async (query: string) =>
    ((await api.call('GET', `/queue/summary?email_id=${id}&${query}`)).json as { count: number }).count
  expect(await count(`region=${api.domain.region.toUpperCase()}`)).toBe(1)
  expect(await count('region=eu-west-1')).toBe(0)
  const node = await api.storage.thisNode({}, 0)
  expect(await count(`node=${node}`)).toBe(1)
  expect(await count('node=mail9')).toBe(0)
  expect((await api.call('GET', '/queue?region=a%20b')).json).toMatchObject({
    message: 'Invalid `region` field: it must be the name of a region.',
  })
})

test('metrics can be limited to the domains in a region', async () => {
  const limited = async (region: string, domainIds?: string[]) =>
    (await limitToRegion(api.storage, api.teamId, { domainIds, region }, 0)).domainIds
  expect(await limited(api.domain.region)).toContain(api.domain.id)
  expect(await limited(api.domain.region, [api.domain.id])).toEqual([api.domain.id])
  // No domain is in the region, which must not select all mail.
  expect(await limited('eu-west-1', [api.domain.id])).toHaveLength(1)
  expect(await limited('eu-west-1')).not.toContain(api.domain.id)
  for (const path of ['/emails/metrics', '/emails/metrics/breakdown']) {
    expect((await api.call('GET', `${path}?region=eu-west-1`)).status).toBe(200)
    expect((await api.call('GET', `${path}?region=a%20b`)).json).toMatchObject({
      message: expect.stringContaining('`region`') as string,
    })
  }
})
