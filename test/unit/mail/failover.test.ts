import { expect, test } from 'vitest'
import { decideFailovers, groupNodes } from '../../../appliance/mail/failover.ts'
import type { NodeView } from '../../../appliance/mail/node.ts'
import type { RegionMap } from '../../../appliance/mail/region.ts'

const NOW = 1_000_000
type Node = Pick<NodeView, 'name' | 'state' | 'heartbeatAt' | 'region' | 'failover' | 'sources'>
const toHome = { region: 'us-east-1', afterMs: 60_000 }

const node = (name: string, region: string | null, more: Partial<Node> = {}): Node => ({
  name,
  region,
  state: 'active',
  heartbeatAt: NOW,
  failover: null,
  sources: [],
  ...more,
})
const lost = (name: string, region: string, age: number, failover: Node['failover'] = toHome): Node =>
  node(name, region, { state: 'lost', heartbeatAt: NOW - age, failover })

const home = node('home', 'us-east-1')
const pools: RegionMap['pools'] = [
  { pool: 'default', region: 'us-east-1' },
  { pool: 'eu', region: 'eu-west-1' },
]
const failover = { region: 'eu-west-1', target: 'us-east-1', since: 0, auditId: 'a' }
const decide = (nodes: Node[], map: Partial<RegionMap> = {}, watchedSince = 0) =>
  decideFailovers(nodes, { pools, failovers: [], ...map }, NOW, watchedSince)
const NOTHING = { begin: [], end: [] }

test('a region is failed over once all its nodes have been gone for the time they chose', () => {
  const begin = [{ region: 'eu-west-1', target: 'us-east-1', lostAt: NOW - 60_000 }]
  const stopped = { ...lost('old', 'eu-west-1', 90_000), state: 'stopped' as const }
  expect(decide([home, lost('eu1', 'eu-west-1', 60_000), stopped])).toEqual({ begin, end: [] })
  expect(decide([home, lost('eu1', 'eu-west-1', 59_999), stopped])).toEqual(NOTHING)
  expect(decide([home, lost('eu1', 'eu-west-1', 90_000), node('eu2', 'eu-west-1')])).toEqual(NOTHING)
  expect(decide([home, lost('eu1', 'eu-west-1', 90_000)], { failovers: [failover] })).toEqual(NOTHING)
})

test('after a gap in which the nodes could not be read, a region is given the whole time again', () => {
  const nodes = [home, lost('eu1', 'eu-west-1', 600_000)]
  expect(decide(nodes, {}, NOW - 59_999)).toEqual(NOTHING)
  expect(decide(nodes, {}, NOW - 60_000).begin).toHaveLength(1)
})

test.each([
  ['it was not configured', [home, lost('eu1', 'eu-west-1', 90_000, null)], pools],
  [
    'the node seen last does not want it',
    [home, lost('eu1', 'eu-west-1', 90_000), lost('eu2', 'eu-west-1', 80_000, null)],
    pools,
  ],
  ['no node of the other region is alive', [lost('eu1', 'eu-west-1', 90_000)], pools],
  ['the other region has no pool', [home, lost('eu1', 'eu-west-1', 90_000)], pools.slice(1)],
  ['the region has no pool', [home, lost('eu1', 'eu-west-1', 90_000)], pools.slice(0, 1)],
])('a region is not failed over if %s', (_reason, nodes, some) => {
  expect(decide(nodes, { pools: some })).toEqual(NOTHING)
})

test('nodes without sending IPs do not keep a region alive that has nodes with some', () => {
  const sending = { ...lost('eu1', 'eu-west-1', 60_000), sources: ['192.0.2.1'] }
  const api = node('eu-api', 'eu-west-1')
  expect(decide([home, sending, api]).begin).toEqual([
    { region: 'eu-west-1', target: 'us-east-1', lostAt: NOW - 60_000 },
  ])
  expect(decide([home, sending, api], { failovers: [failover] })).toEqual(NOTHING)
  const lostHome = { ...lost('home1', 'us-east-1', 90_000, null), sources: ['192.0.2.2'] }
  expect(decide([home, lostHome, lost('eu1', 'eu-west-1', 60_000)])).toEqual(NOTHING)
})

test('a region is restored when a node of it returns, or when it has no pool anymore', () => {
  const end = ['eu-west-1']
  expect(decide([home, node('eu1', 'eu-west-1')], { failovers: [failover] })).toEqual({ begin: [], end })
  expect(decide([home], { failovers: [failover] })).toEqual(NOTHING)
  expect(decide([home], { failovers: [failover], pools: pools.slice(0, 1) })).toEqual({ begin: [], end })
  expect(decide([home, lost('eu1', 'eu-west-1', 1)], { failovers: [failover] })).toEqual(NOTHING)
})

test('nodes are grouped by region, and those without a region are left out', () => {
  expect(groupNodes([node('x', null), lost('eu1', 'eu-west-1', 5), home])).toEqual([
    { region: 'eu-west-1', alive: [], gone: ['eu1'], lostAt: NOW - 5, failover: toHome },
    { region: 'us-east-1', alive: ['home'], gone: [], lostAt: null, failover: null },
  ])
})
