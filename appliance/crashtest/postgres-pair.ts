/** A private PostgreSQL primary with a synchronous standby, which can be promoted. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createServer,
  dataOf,
  serverIn,
  temporaryFolder,
  urlIn,
  type PostgresServer,
} from './postgres-server.ts'

/** The primary, which changes with each promotion, and its standby. */
export interface PostgresPair extends Omit<PostgresServer, 'folder' | 'run' | 'control' | 'stop'> {
  /** Runs an SQL query on the standby after it has replayed everything that it received. */
  queryStandby(sql: string): Promise<string>
  /** Makes the standby the primary; resolves when it takes writes. The former primary must have been killed. */
  promote(): Promise<void>
  /** Replaces the former primary with a standby of the new one; resolves when commits wait for it. */
  addStandby(): Promise<void>
}

/**
 * `wal_retrieve_retry_interval`: how soon a standby connects again to a primary that was restarted. `wal_keep_size`: so
 * that the standby still finds what it missed.
 */
const SETTINGS = ['wal_retrieve_retry_interval=200ms', 'wal_keep_size=256MB']
/** Interval between checks of the standby, and their time limit, in milliseconds. */
const LOOK_MS = 50
const LONGEST_MS = 180_000

/**
 * Whether the standby waits for more WAL. The positions may differ forever: the end of what it received can be a part of
 * a record.
 */
const REPLAYED = `select coalesce(pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn(), false) or exists (
  select 1 from pg_stat_activity where backend_type = 'startup'
    and wait_event in ('RecoveryRetrieveRetryInterval', 'RecoveryWalStream'))`
/** How often in a row, because what was received is replayed a moment later. */
const LOOKS = 4
const SYNCHRONOUS = "select count(*) = 1 from pg_stat_replication where sync_state = 'sync'"

/** Creates and starts both servers. Every commit waits until the standby has stored it. */
export async function startPair(programs: string): Promise<PostgresPair> {
  const folder = await temporaryFolder()
  const folders = ['a', 'b'].map((name) => join(folder, name))
  const places = folders.map((one) => ({ programs, folder: one, safe: true, settings: SETTINGS }))
  let primary = await createServer(places[0]!)
  let standby = await serverIn(places[1]!)
  await primary.start()
  const addStandby = () => makeStandby(primary, standby)
  await addStandby()
  return {
    urlOf: (database) => urlIn(folders, database),
    query: (sql) => primary.query(sql),
    queryApart: (sql) => primary.queryApart(sql),
    async queryStandby(sql) {
      for (let looks = 0; looks < LOOKS; looks++) await until(() => standby.query(REPLAYED))
      return standby.query(sql)
    },
    start: () => primary.start(),
    kill: () => primary.kill(),
    async promote() {
      await standby.control('promote')
      ;[primary, standby] = [standby, primary]
    },
    addStandby,
    async close() {
      // One of the two is stopped if a promotion was interrupted.
      await Promise.allSettled([primary.stop(), standby.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function makeStandby(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const data = dataOf(standby.folder)
  await rm(data, { recursive: true, force: true })
  await primary.run('pg_basebackup', ['-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
  await standby.start()
  // Only when the standby is there, because each commit waits for it from now on. A copy of the setting would let the
  // standby wait for another one as soon as it is promoted.
  await primary.query("alter system set synchronous_standby_names = '*'")
  await primary.query('select pg_reload_conf()')
  await until(() => primary.query(SYNCHRONOUS))
}

/** Waits until a query answers true. */
async function until(ask: () => Promise<string>): Promise<void> {
  const late = performance.now() + LONGEST_MS
  for (;;) {
    await pause(LOOK_MS)
    if ((await ask()).trim() === 't') return
    if (performance.now() > late) throw new Error('The standby did not follow its primary in time.')
  }
}
