import { expect, test } from 'vitest'
import { regionReadings } from '../../../appliance/alerts/readings.ts'
import { ALERT_LEVELS, decideAlerts } from '../../../appliance/mail/alert.ts'
import type { NodeView } from '../../../appliance/mail/node.ts'
import type { RegionMap } from '../../../appliance/mail/region.ts'
import { nodeView } from '../http/stand-ins.ts'

const NOW = 1_000_000
const node = (name: string, region: string, more: Partial<NodeView> = {}): NodeView => ({
  ...nodeView('/var/lib/posthaste', 0),
  name,
  region,
  heartbeatAt: NOW,
  ...more,
})
const lost = { state: 'lost', heartbeatAt: 0 } as const
const failover = { region: 'us-east-1', afterMs: 90_000 }
const map: RegionMap = {
  pools: [
    { pool: 'default', region: 'us-east-1' },
    { pool: 'eu', region: 'eu-west-1' },
  ],
  failovers: [],
}
const opened = (nodes: NodeView[], more: Partial<RegionMap> = {}) =>
  decideAlerts([], regionReadings(nodes, { ...map, ...more }), NOW, ALERT_LEVELS).open.map(
    ({ scope, kind, subject, note }) => [scope, kind, subject.id, note],
  )

test('an alert is opened when all nodes of a region are gone, and says where its mail is', () => {
  const home = node('home', 'us-east-1')
  const gone = node('eu1', 'eu-west-1', lost)
  const about = ['server', 'region', 'eu-west-1']
  const all = 'All nodes of eu-west-1 are stopped or lost: eu1.'
  expect(opened([home, gone, node('eu2', 'eu-west-1')])).toEqual([])
  expect(opened([home, gone])).toEqual([
    [...about, `${all} Its mail waits, because fail-over is not configured.`],
  ])
  expect(opened([home, { ...gone, failover }])).toEqual([
    [
      ...about,
      `${all} Its mail waits. After 1.5 minutes, it leaves from us-east-1, if a node and a pool are there.`,
    ],
  ])
  const active = [{ region: 'eu-west-1', target: 'us-east-1', since: 0, auditId: 'a' }]
  expect(opened([home, { ...gone, failover }], { failovers: active })).toEqual([
    [...about, `${all} Its mail leaves from us-east-1.`],
  ])
})

test('a region without a pool has no alert, because no mail depends on it', () => {
  expect(opened([node('tokyo1', 'ap-northeast-1', lost)])).toEqual([])
})
