import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Assignment, Source } from '../../appliance/mail/source.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { makeTeam, newDomain, T0, unique } from './fixtures.ts'

const source = (ip: string, more: Partial<Source> = {}): Source => ({
  ip,
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'operator',
  health: null,
  checkedAt: null,
  ...more,
})
const health: Source['health'] = {
  findings: [{ id: 'ptr:192.0.2.1', title: 'PTR', status: 'failed', found: 'None.', advice: 'Add it.' }],
  ipv6: false,
}
const suspended = { state: 'suspended', stateReason: 'It is listed.', suspendedBy: 'check' } as const
const nodeId = 'here'

export function sourcesContract(storage: () => Storage): void {
  const list = async (pool: string) =>
    (await storage().listSources({}, T0)).filter((one) => one.pool === pool)

  test('stores an address once, and lists sources by pool and address', async () => {
    const pool = unique('pool')
    const two = source(`192.0.2.2-${pool}`, {
      pool,
      hostname: 'mx.example.com',
      warmUpSince: T0,
      ...suspended,
    })
    const one = source(`192.0.2.1-${pool}`, { pool, health, checkedAt: T0, origin: 'configuration' })
    expect(await storage().addSource({ source: two, nodeId }, T0)).toBe(true)
    expect(await storage().addSource({ source: one, nodeId }, T0)).toBe(true)
    expect(await storage().addSource({ source: { ...one, pool: 'other' }, nodeId }, T0)).toBe(false)
    expect(await list(pool)).toEqual([one, two])
  })

  test('a configured source exists only while its pool has no other source', async () => {
    const pool = unique('pool')
    const wayOut = source(`auto-${pool}`, { pool, origin: 'configuration' })
    const added = source(`192.0.2.5-${pool}`, { pool })
    const keep = () => storage().keepWayOut({ source: wayOut, nodeId }, T0)
    await keep()
    await keep()
    expect(await list(pool)).toEqual([wayOut])
    await storage().addSource({ source: added, nodeId }, T0)
    await keep()
    expect(await list(pool)).toEqual([added])
    await storage().saveSource({ ip: added.ip, change: { pool: unique('pool') } }, T0)
    await keep()
    expect(await list(pool)).toEqual([wayOut])
  })

  test('an update changes only the given fields, and can set null', async () => {
    const pool = unique('pool')
    const before = source(`192.0.2.3-${pool}`, { pool, warmUpSince: T0, ...suspended })
    await storage().addSource({ source: before, nodeId }, T0)
    const { ip } = before
    expect(await storage().saveSource({ ip, change: { health, checkedAt: T0 } }, T0)).toBe(true)
    expect(await storage().saveSource({ ip, change: {} }, T0)).toBe(true)
    expect(await list(pool)).toEqual([{ ...before, health, checkedAt: T0 }])
    const active = { state: 'active', stateReason: null, suspendedBy: null } as const
    expect(
      await storage().saveSource({ ip, change: { ...active, warmUpSince: null, health: null } }, T0),
    ).toBe(true)
    expect(await list(pool)).toEqual([
      { ...before, ...active, warmUpSince: null, health: null, checkedAt: T0 },
    ])
    expect(await storage().saveSource({ ip: 'none', change: { pool } }, T0)).toBe(false)
  })

  test('rejects an update based on an outdated state', async () => {
    const pool = unique('pool')
    const { ip } = source(`192.0.2.4-${pool}`)
    await storage().addSource({ source: source(ip, { pool }), nodeId }, T0)
    const change = { checkedAt: T0 }
    const save = (seen: Pick<Source, 'state' | 'suspendedBy'>) =>
      storage().saveSource({ ip, change, seen }, T0)
    expect(await save({ state: 'suspended', suspendedBy: 'operator' })).toBe(false)
    expect(await save({ state: 'active', suspendedBy: null })).toBe(true)
    await storage().saveSource({ ip, change: { ...suspended, suspendedBy: 'operator' } }, T0)
    expect(await save({ state: 'suspended', suspendedBy: 'check' })).toBe(false)
    expect(await save({ state: 'suspended', suspendedBy: 'operator' })).toBe(true)
  })

  test('finds sources by their node', async () => {
    const pool = unique('pool')
    const [one, two] = [source(`192.0.2.6-${pool}`, { pool }), source(`192.0.2.7-${pool}`, { pool })]
    await storage().addSource({ source: one, nodeId: pool }, T0)
    await storage().addSource({ source: two, nodeId: 'there' }, T0)
    expect(await storage().thisNode({}, T0)).toMatch(/^[0-9a-f]{16}$/)
    expect(await storage().listSources({ nodeId: pool }, T0)).toEqual([one])
    expect(await list(pool)).toEqual([one, two])
  })

  test('removes a source only once', async () => {
    const pool = unique('pool')
    const { ip } = source(`192.0.2.5-${pool}`)
    await storage().addSource({ source: source(ip, { pool }), nodeId }, T0)
    expect(await storage().removeSource({ ip }, T0)).toBe(true)
    expect(await storage().removeSource({ ip }, T0)).toBe(false)
    expect(await list(pool)).toEqual([])
  })

  test('the same mail has one assignment, and a later one replaces its pool', async () => {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('d')}.example.com`)
    await storage().createDomain({ domain, keys }, T0)
    const about = (more: Partial<Assignment>): Assignment => ({
      id: newId(T0),
      teamId: team.id,
      domainId: null,
      stream: null,
      pool: 'a',
      ...more,
    })
    const save = (assignment: Assignment) => storage().saveAssignment({ assignment }, T0)
    const [whole, stream, narrow] = [
      about({}),
      about({ stream: 'broadcast' }),
      about({ domainId: domain.id }),
    ]
    expect(await save(whole)).toEqual(whole)
    expect(await save(stream)).toEqual(stream)
    expect(await save(narrow)).toEqual(narrow)
    expect(await save({ ...about({}), pool: 'b' })).toEqual({ ...whole, pool: 'b' })
    const mine = async () =>
      (await storage().listAssignments({}, T0)).filter(({ teamId }) => teamId === team.id)
    expect(await mine()).toEqual([{ ...whole, pool: 'b' }, stream, narrow])
    await storage().deleteDomain({ teamId: team.id, id: domain.id }, T0)
    expect(await mine()).toEqual([{ ...whole, pool: 'b' }, stream])
    expect(await storage().removeAssignment({ id: stream.id }, T0)).toBe(true)
    expect(await storage().removeAssignment({ id: stream.id }, T0)).toBe(false)
  })

  test('stores the region of a pool', async () => {
    const [pool, other] = [unique('pool'), unique('pool')]
    const mine = async () =>
      (await storage().regionMap({}, T0)).pools.filter((one) => [pool, other].includes(one.pool))
    await storage().setPoolRegion({ pool, region: 'eu-west-1' }, T0)
    await storage().setPoolRegion({ pool: other, region: 'oslo-1' }, T0)
    await storage().setPoolRegion({ pool, region: 'sa-east-1' }, T0)
    expect(await mine()).toEqual(
      [
        { pool, region: 'sa-east-1' },
        { pool: other, region: 'oslo-1' },
      ].toSorted((a, b) => (a.pool < b.pool ? -1 : 1)),
    )
    await storage().setPoolRegion({ pool, region: null }, T0)
    expect(await mine()).toEqual([{ pool: other, region: 'oslo-1' }])
  })

  test('begins and ends the fail-over of a region once', async () => {
    const failover = { region: unique('region'), target: 'sa-east-1', since: T0, auditId: newId(T0) }
    const { region } = failover
    const entryFor = (id: string) => ({
      id,
      teamId: null,
      at: T0,
      actor: 'system',
      actorKind: 'system' as const,
      actorName: null,
      ip: null,
      action: 'region.fail_over' as const,
      target: `region ${region}`,
      targetName: region,
      before: null,
      after: null,
      details: {},
    })
    const entries = async () =>
      (await storage().listAudit({ target: `region ${region}`, limit: 10 }, T0)).items.map(({ id }) => id)
    const mine = async () =>
      (await storage().regionMap({}, T0)).failovers.filter((one) => one.region === region)
    expect(await storage().beginFailover({ failover, entry: entryFor(failover.auditId) }, T0)).toBe(true)
    const again = { ...failover, target: 'eu-west-1', auditId: newId(T0) }
    expect(await storage().beginFailover({ failover: again, entry: entryFor(again.auditId) }, T0)).toBe(false)
    expect(await mine()).toEqual([failover])
    expect(await entries()).toEqual([failover.auditId])
    const [ended, late] = [newId(T0), newId(T0)]
    expect(await storage().endFailover({ region, entry: entryFor(ended) }, T0)).toBe(true)
    expect(await storage().endFailover({ region, entry: entryFor(late) }, T0)).toBe(false)
    expect(await mine()).toEqual([])
    expect((await entries()).toSorted()).toEqual([failover.auditId, ended].toSorted())
  })

  test('rejects an assignment unless its team and domain exist and belong together', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('d')}.example.com`)
    await storage().createDomain({ domain, keys }, T0)
    const save = (about: Partial<Assignment>) =>
      storage().saveAssignment(
        { assignment: { id: newId(T0), teamId: null, domainId: null, stream: null, pool: 'a', ...about } },
        T0,
      )
    expect(await save({ teamId: newId(T0) })).toBeUndefined()
    expect(await save({ domainId: newId(T0) })).toBeUndefined()
    expect(await save({ teamId: other.team.id, domainId: domain.id })).toBeUndefined()
    expect(await save({ domainId: domain.id })).toMatchObject({ domainId: domain.id, pool: 'a' })
  })
}
