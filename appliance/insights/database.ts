/** Checks the PostgreSQL server: response time, connections and standbys. */
import type { Finding } from '../mail/finding.ts'
import type { DatabaseServer, Storage } from '../storage/storage.ts'

/**
 * Response time above which there is a warning. Each accepted email waits for about ten round trips. On the same site,
 * the server responds within a few milliseconds.
 */
const SLOW_MS = 100
/** Share of connections in use from which there is a warning. */
const NEARLY_ALL = 0.9
const MB = 1_000_000

/** Checks the database server. Returns no finding with SQLite, whose disk is checked instead. */
export async function checkDatabase(storage: Pick<Storage, 'databaseServer'>): Promise<Finding[]> {
  try {
    const server = await storage.databaseServer()
    return server === null ? [] : [judgeDatabase(server)]
  } catch (error) {
    return [
      {
        ...ABOUT,
        status: 'failed',
        found: (error as Error).message,
        advice: 'Mail is refused until the database server is back. Nothing accepted is lost.',
      },
    ]
  }
}

const ABOUT = { id: 'database', title: 'Database server' }

/** Evaluates the state of a server that responds. */
function judgeDatabase(server: DatabaseServer): Finding {
  const { connections, respondedIn, asyncStandbys } = server
  const { used, most } = connections
  const found = describeDatabase(server)
  const warning = (advice: string): Finding => ({ ...ABOUT, status: 'warning', found, advice })
  if (used >= most * NEARLY_ALL)
    return warning('Nearly all connections are in use. Raise max_connections, or find out who uses them.')
  if (respondedIn > SLOW_MS)
    return warning(
      'Each accepted email waits for several round trips. Move the database server closer, or find out what slows it down.',
    )
  if (asyncStandbys > 0)
    return warning(
      `${asyncStandbys === 1 ? 'A standby replicates' : `${asyncStandbys} standbys replicate`} asynchronously. If one is promoted, the newest mail is lost. To prevent that, name it in synchronous_standby_names.`,
    )
  return { ...ABOUT, status: 'ok', found, advice: null }
}

/** Describes a server in one sentence. */
export function describeDatabase({
  version,
  database,
  size,
  connections,
  respondedIn,
}: DatabaseServer): string {
  const { own, used, most } = connections
  return `PostgreSQL ${version.split(' ')[0]}, database ${database}, ${Math.round(size / MB)} MB. ${used} of ${most} connections in use, ${own} by Posthaste. Responded in ${respondedIn} ms.`
}
