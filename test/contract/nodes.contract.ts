import { expect, test } from 'vitest'
import { formatOwner } from '../../appliance/mail/ids.ts'
import type { Source } from '../../appliance/mail/source.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { cause, leaseArgs, makeTeam, MINUTE, putEmail, T0, unique } from './fixtures.ts'

/** Judged by the clock of the database: every node is alive, or none. */
const [ALIVE, LOST] = [{ lostAfter: 10 * MINUTE }, { lostAfter: 0 }]
const freeing = { cause: cause('interrupted'), firstDueAt: T0 + MINUTE }

const source = (ip: string, pool: string): Source => ({
  ip,
  pool,
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
})

/** Tests of nodes that share the storage. */
export function nodesContract(storage: () => Storage): void {
  const join = (id: string, run = '1') =>
    storage().joinNode({ id, run, name: `${id}.example`, facts: `{"run":${run}}` }, T0)
  const renew = (id: string, run: string, more: { lostAfter: number; state?: 'leaving' }) =>
    storage().renewNode({ id, run, state: 'active', facts: '{}', ...more }, T0)
  const nodes = () => storage().listNodes({}, T0)
  const stateOf = async (id: string) => (await nodes()).find((one) => one.id === id)?.state

  test('lists a node from its first start, with sources added before any node started', async () => {
    const before = await storage().thisNode({}, T0)
    await storage().addSource({ source: source('192.0.2.1', 'a'), nodeId: before }, T0)
    const at = await join('aaaaaaaaaaaaaaaa')
    expect(Math.abs(at - Date.now())).toBeLessThan(10 * MINUTE)
    const expected = { id: 'aaaaaaaaaaaaaaaa', name: 'aaaaaaaaaaaaaaaa.example', state: 'active' }
    const times = { startedAt: at, heartbeatAt: at }
    expect(await nodes()).toEqual([{ ...expected, ...times, facts: '{"run":1}', sources: ['192.0.2.1'] }])
    expect(await storage().thisNode({}, T0)).toBe('aaaaaaaaaaaaaaaa')
  })

  test('only the current run of a node can renew or stop it, and a stopped node is not alive', async () => {
    const id = unique('node')
    await join(id, '1')
    await join(id, '2')
    expect(await renew(id, '1', ALIVE)).toBeUndefined()
    const { alive } = (await renew(id, '2', ALIVE))!
    expect(await renew(id, '2', { ...ALIVE, state: 'leaving' })).toMatchObject({ alive, lost: false })
    expect(await stateOf(id)).toBe('leaving')
    await storage().stopNode({ id, run: '1' }, T0)
    expect(await stateOf(id)).toBe('leaving')
    await storage().stopNode({ id, run: '2' }, T0)
    expect(await stateOf(id)).toBe('stopped')
    const other = unique('node')
    await join(other)
    expect(await renew(other, '1', ALIVE)).toMatchObject({ alive, lost: true })
  })

  test('frees the leases and duties of a lost node once, and those of no other node', async () => {
    const [gone, here] = [unique('node'), unique('node')]
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    await join(gone)
    const args = leaseArgs({ owner: formatOwner(gone, '1'), leaseUntil: T0 + 30 * MINUTE })
    expect(await storage().lease(args, T0)).toHaveLength(1)
    const duty = unique('duty')
    const take = (owner: string) =>
      storage().takeDuty({ name: duty, owner: formatOwner(owner, '1'), forMs: MINUTE, ...ALIVE }, T0)
    await take(gone)
    expect(await take(here)).toBeNull()
    expect(await storage().freeLostNodes({ ...ALIVE, ...freeing }, T0)).toEqual([])
    expect(await storage().leaseOwners({}, T0)).toEqual([formatOwner(gone, '1')])

    expect(await storage().freeLostNodes({ ...LOST, ...freeing }, T0)).toEqual([
      { name: `${gone}.example`, deliveries: 1 },
    ])
    expect(await storage().leaseOwners({}, T0)).toEqual([])
    expect(await take(here)).toBe(2)
    expect(await storage().freeLostNodes({ ...LOST, ...freeing }, T0)).toEqual([])
    const [again] = await storage().lease(leaseArgs({ owner: formatOwner(here, '1') }), T0 + MINUTE)
    expect(again).toMatchObject({ emailId: email.id, attempts: 2 })

    // A node that comes back may be lost again.
    await renew(gone, '1', ALIVE)
    await storage().voidLeases({ owners: [formatOwner(here, '1')], ...freeing }, T0)
    expect(
      await storage().lease(leaseArgs({ owner: formatOwner(gone, '1') }), T0 + 30 * MINUTE),
    ).toHaveLength(1)
    expect(await storage().freeLostNodes({ ...LOST, ...freeing }, T0)).toHaveLength(1)
    await storage().dropQueue({ teamId: team.id }, T0)
  })

  test('removes a node with its sources, unless it is alive', async () => {
    const id = unique('node')
    await join(id)
    await storage().addSource({ source: source(`192.0.2.9-${id}`, id), nodeId: id }, T0)
    const forget = (more: { lostAfter: number }) => storage().forgetNode({ id, ...freeing, ...more }, T0)
    expect(await forget(ALIVE)).toBe(false)
    expect((await nodes()).find((one) => one.id === id)?.sources).toEqual([`192.0.2.9-${id}`])
    expect(await forget(LOST)).toBe(true)
    expect(await storage().listSources({ nodeId: id }, T0)).toEqual([])
    expect(await forget(LOST)).toBeUndefined()
    expect(await renew(id, '1', ALIVE)).toBeUndefined()
  })

  test('moves sources to another node only if theirs is lost or stopped', async () => {
    const [one, two, ip] = [unique('node'), unique('node'), unique('192.0.2.10')]
    await join(one)
    await join(two)
    await storage().addSource({ source: source(ip, one), nodeId: one }, T0)
    const adopt = (more: { lostAfter: number }) =>
      storage().adoptSources({ nodeId: two, ips: [ip], ...more }, T0)
    expect(await storage().adoptSources({ nodeId: two, ips: [], ...LOST }, T0)).toBe(0)
    expect(await adopt(ALIVE)).toBe(0)
    await storage().stopNode({ id: one, run: '1' }, T0)
    expect(await adopt(ALIVE)).toBe(1)
    expect(await adopt(LOST)).toBe(0)
    expect((await storage().listSources({ nodeId: two }, T0)).map((source) => source.ip)).toEqual([ip])
  })

  test('leases only mail of the given pools, however much other mail is due first', async () => {
    const { team } = await makeTeam(storage())
    const pools = ['foreign', 'own', 'other']
    for (let at = 0; at < 260; at++)
      await putEmail(storage(), team.id, [`a@${at}.example`], T0, { pool: 'foreign' })
    for (const pool of pools.slice(1)) await putEmail(storage(), team.id, ['a@x.example'], T0 + 1, { pool })
    const lease = async (only: boolean, names: string[]) => {
      const filter = { only, pools: names }
      const leased = await storage().lease(leaseArgs({ pools: filter, limit: 20 }), T0 + 1)
      await storage().unlease({ owner: 'one', deliveryIds: leased.map(({ id }) => id) }, T0 + 1)
      return leased.map(({ pool }) => pool)
    }
    const due = (only: boolean, names: string[], closed: string[] = []) =>
      storage().nextDue({ closed, pools: { only, pools: names } }, T0)
    expect(await lease(true, ['own'])).toEqual(['own'])
    expect((await lease(false, ['foreign'])).toSorted()).toEqual(['other', 'own'])
    expect(await lease(true, [])).toEqual([])
    expect([await due(true, ['own']), await due(false, ['foreign'])]).toEqual([T0 + 1, T0 + 1])
    expect([await due(false, ['other']), await due(true, ['none']), await due(true, [])]).toEqual([
      T0,
      undefined,
      undefined,
    ])
    expect(await due(true, ['own'], ['own/?x.example'])).toBeUndefined()
    await storage().dropQueue({ teamId: team.id }, T0 + 1)
  })

  test('finds queued deliveries by the region of their pool, and by a node that sends from it', async () => {
    const { team } = await makeTeam(storage())
    const [pool, other] = [unique('pool'), unique('pool')]
    const nodeId = 'ffffffffffffffff'
    await join(nodeId)
    await storage().addSource({ source: source('192.0.2.77', pool), nodeId }, T0)
    const region = unique('region').replace('_', '-')
    await storage().setPoolRegion({ pool, region }, T0)
    const here = await putEmail(storage(), team.id, ['a@example.net'], T0, { pool })
    await putEmail(storage(), team.id, ['b@example.net'], T0, { pool: other })
    const found = async (filter: { region?: string; node?: string }) =>
      (await storage().listQueue({ teamId: team.id, limit: 10, ...filter }, T0)).items.map(
        ({ emailId }) => emailId,
      )
    expect(await found({ region })).toEqual([here.id])
    expect(await found({ node: nodeId })).toEqual([here.id])
    expect(await found({ node: `${nodeId}.example` })).toEqual([here.id])
    expect(await found({ region: 'nowhere' })).toEqual([])
    expect(await found({ node: 'nobody' })).toEqual([])
    const { groups } = await storage().surveyQueue({ teamId: team.id, region }, T0)
    expect(groups.map(({ count }) => count)).toEqual([1])
  })
}
