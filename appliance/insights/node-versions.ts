/** Checks that all nodes of a database run the same version, except while they are upgraded one after the other. */
import type { Finding } from '../mail/finding.ts'
import type { NodeView } from '../mail/node.ts'
import { toNodeViews } from '../mail/node-view.ts'
import type { Storage } from '../storage/storage.ts'
import { checkDatabase } from './database.ts'

/**
 * Time after the last start of a node after which different versions are a warning, in milliseconds; by then, an upgrade
 * should be finished.
 */
const UPGRADE_MS = 24 * 3_600_000

const ABOUT = { id: 'versions', title: 'Versions of the nodes' }

type NodeStorage = Pick<Storage, 'databaseServer'> & Partial<Pick<Storage, 'listNodes'>>

/** Checks the database server and its nodes. Returns no finding with SQLite, which has one node. */
export async function examineCluster(storage: NodeStorage, now: number): Promise<Finding[]> {
  const findings = await checkDatabase(storage)
  // Without the server, there is no list. With SQLite, there is nothing to compare.
  if (!storage.listNodes || findings.length === 0 || findings.some(({ status }) => status === 'failed'))
    return findings
  return [...findings, ...judgeVersions(toNodeViews(await storage.listNodes({}, now), null, now), now)]
}

/** Compares the versions of all live nodes. Returns no finding for a single node. Pure. */
function judgeVersions(nodes: readonly NodeView[], now: number): Finding[] {
  const alive = nodes.filter(({ state }) => state === 'active')
  if (alive.length < 2) return []
  const byVersion = Map.groupBy(alive, ({ version }) => version)
  const [version] = byVersion.keys()
  if (byVersion.size === 1)
    return [{ ...ABOUT, status: 'ok', found: `All ${alive.length} nodes run ${version}.`, advice: null }]
  const found = [...byVersion]
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([one, own]) => `${one} on ${own.map(({ name }) => name).join(', ')}`)
    .join('; ')
  const isRecent = now - Math.max(...alive.map(({ startedAt }) => startedAt)) < UPGRADE_MS
  if (isRecent)
    return [
      {
        ...ABOUT,
        status: 'ok',
        found: `Different versions: ${found}. A node was started within the last 24 hours.`,
        advice: 'Upgrade the other nodes, too.',
      },
    ]
  return [
    {
      ...ABOUT,
      status: 'warning',
      found: `Different versions for more than 24 hours: ${found}.`,
      advice:
        'Finish the upgrade on all nodes. A later version may not start while nodes with an older one are running.',
    },
  ]
}
