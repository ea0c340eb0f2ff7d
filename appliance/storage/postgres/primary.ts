/** Chooses the server that takes writes among a primary and its standbys, after any of them was promoted. */
import { toServerError, createServerRefusal } from './failures.ts'

/** A connection. */
interface Asked {
  query<R>(text: string): Promise<{ rows: R[] }>
  end(): Promise<void>
}

/**
 * Newest timeline that this thread has seen of each database. A promotion begins a new one, so that an older one is
 * that of a former primary.
 */
const timelines = new WeakMap<object, number>()

const QUESTION = `select pg_is_in_recovery() as standby,
  case when pg_is_in_recovery() then 0
    else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer end as timeline`

/**
 * Connects to all servers at the same time, and returns the first connection to a primary. One that is gone without a
 * response must not delay the others.
 * @param target identifies the database
 * @throws an error with a sentence for people if none is the primary
 */
export async function choosePrimary<S extends { url: string }, C extends Asked>(
  servers: readonly S[],
  target: object,
  connectTo: (server: S) => Promise<C>,
): Promise<C> {
  const { promise: first, resolve } = Promise.withResolvers<C | undefined>()
  const reasons: string[] = servers.map(() => '')
  let isChosen = false
  const attempts = servers.map(async (server, at) => {
    let client: C | undefined
    try {
      client = await connectTo(server)
      const reason = await refusalOf(client, target)
      if (reason === undefined && !isChosen) {
        isChosen = true
        return resolve(client)
      }
      reasons[at] = reason ?? 'another primary'
    } catch (error) {
      // Another server may be the primary. If none is, the error below names the reason.
      reasons[at] = toServerError(error).message
    }
    await client?.end().catch(() => undefined)
  })
  void Promise.all(attempts).then(() => resolve(undefined))
  const chosen = await first
  if (chosen) return chosen
  const each = servers.map(({ url }, at) => `${nameOf(url)}: ${reasons[at]!.replace(/\.$/, '')}`)
  throw createServerRefusal(`No server of storage.url takes writes (${each.join('; ')}).`)
}

/** Returns why a server isn't the primary; undefined if it is. */
async function refusalOf(client: Asked, target: object): Promise<string | undefined> {
  const { standby, timeline } = (await client.query<{ standby: boolean; timeline: number }>(QUESTION))
    .rows[0]!
  if (standby) return 'a standby'
  const newest = timelines.get(target) ?? 0
  if (timeline < newest) return `a former primary, on timeline ${timeline} instead of ${newest}`
  timelines.set(target, timeline)
  return undefined
}

/** Returns the host or socket directory of a server. */
function nameOf(url: string): string {
  const { host, searchParams } = new URL(url)
  return searchParams.get('host') ?? host
}
