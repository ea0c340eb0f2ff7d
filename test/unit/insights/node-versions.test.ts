import { expect, test } from 'vitest'
import { examineCluster } from '../../../appliance/insights/node-versions.ts'
import type { DatabaseServer, StoredNode } from '../../../appliance/storage/storage.ts'

const NOW = Date.UTC(2026, 0, 10)
const HOUR = 3_600_000
const server: DatabaseServer = {
  version: '15.14',
  database: 'posthaste',
  size: 1_000_000,
  connections: { own: 5, used: 12, most: 97 },
  asyncStandbys: 0,
  respondedIn: 3,
}

const stored = (
  name: string,
  version: string,
  hours: number,
  more: Partial<StoredNode> = {},
): StoredNode => ({
  id: name,
  name,
  state: 'active',
  startedAt: NOW - hours * HOUR,
  heartbeatAt: NOW,
  facts: JSON.stringify({ version }),
  sources: [],
  ...more,
})

const examine = async (nodes: StoredNode[], database: DatabaseServer | null = server) => {
  const storage = { databaseServer: async () => database, listNodes: async () => nodes }
  return (await examineCluster(storage, NOW)).filter(({ id }) => id === 'versions')
}

test('nodes with the same version are fine, and a single one is not compared', async () => {
  expect(await examine([stored('a', '1.0.0', 90), stored('b', '1.0.0', 80)])).toEqual([
    {
      id: 'versions',
      title: 'Versions of the nodes',
      status: 'ok',
      found: 'All 2 nodes run 1.0.0.',
      advice: null,
    },
  ])
  expect(await examine([stored('a', '1.0.0', 90)])).toEqual([])
  const gone = [
    stored('b', '0.9.0', 80, { state: 'stopped' }),
    stored('c', '0.9.0', 80, { heartbeatAt: NOW - 60_000 }),
  ]
  expect(await examine([stored('a', '1.0.0', 90), ...gone])).toEqual([])
  expect(await examine([stored('a', '1.0.0', 90), stored('b', '1.1.0', 80)], null)).toEqual([])
})

test('different versions are fine for a day after a start, then a warning that names the nodes', async () => {
  const nodes = (hours: number) => [
    stored('a', '1.10.0', hours),
    stored('b', '1.9.0', 900),
    stored('c', '1.9.0', 900),
  ]
  expect(await examine(nodes(23))).toMatchObject([
    { status: 'ok', found: expect.stringContaining('1.9.0 on b, c; 1.10.0 on a') as string },
  ])
  expect(await examine(nodes(25))).toMatchObject([
    { status: 'warning', found: 'Different versions for more than 24 hours: 1.9.0 on b, c; 1.10.0 on a.' },
  ])
})
