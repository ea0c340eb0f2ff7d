/** The storage as the program uses it: engine, decorators, and what is done to the data directory. */
import { readFile } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import type { Clock } from '../clock/clock.ts'
import type { Actor } from '../mail/audit.ts'
import {
  cleanOnce,
  MasterKeyRefused,
  ownKey,
  rekey,
  sealed,
  secretsStatus,
  unlock,
  type KeyPlaces,
  type Rekeyed,
  type Sealer,
  type SecretsStatus,
} from '../secrets/secrets.ts'
import { remembered } from '../storage/remembered.ts'
import { withRoom, type RoomOptions } from '../storage/room.ts'
import {
  appendEntry,
  backUp,
  hasDatabase,
  listSnapshots,
  lockDataDir,
  newestSchema,
  openSqlite,
  restore,
  sqliteSealing,
  StorageRefused,
  type Decryption,
  type Encryption,
  type SqliteStorage,
} from '../storage/sqlite/sqlite.ts'
import type { BackupDone, Restored, Snapshot, Storage } from '../storage/storage.ts'
import { VERSION } from './version.ts'
import { armCrashPoint } from '../watch/crash-points.ts'
import { observed, type WriteState } from '../watch/observed.ts'
import type { Instruments } from '../watch/metrics.ts'
import { CannotStart } from '../wire/listeners.ts'

/** How a storage is opened. */
interface OpenOptions {
  /** Called when the engine died: nothing can be stored or read any more. */
  onLost?: ((error: Error) => void) | undefined
  /** Called when events were stored. */
  onEvents?: (() => void) | undefined
  /** The caller has locked the data directory, and nobody is served yet. */
  alone?: boolean
}

/**
 * Opens the storage; it is made, or brought up to date, when it has to be. Rejects with a sentence for people.
 * Secrets are sealed beneath the memory, so that those that are remembered are open.
 */
export async function openStorage(
  config: Config,
  { onLost, onEvents, alone = false }: OpenOptions = {},
): Promise<SqliteStorage> {
  const refused = armCrashPoint(process.env, config.data_dir)
  if (refused !== undefined) throw new CannotStart(refused)
  const engine = await orCannotStart(openSqlite({ dataDir: config.data_dir, onLost, onEvents }))
  try {
    return remembered(sealed(engine, await orCannotStart(unlockSecrets(config, alone))))
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** What a daemon adds to its storage. */
export interface DaemonStorageOptions extends OpenOptions {
  room: RoomOptions
  instruments: Instruments
  clock: Clock
}

/** The storage of a daemon. From inside to outside: engine, sealed, remembered, with room on the disk, measured. */
export async function openDaemonStorage(
  config: Config,
  { room, instruments, clock, ...options }: DaemonStorageOptions,
): Promise<{ storage: SqliteStorage; writes: WriteState }> {
  const opened = await openStorage(config, { ...options, alone: true })
  return observed(withRoom(opened, room), instruments, clock)
}

/** Where the master key comes from. */
const keyPlaces = ({ data_dir: dataDir, secrets: { master_key_file: keyFile } }: Config): KeyPlaces => ({
  ...{ dataDir, keyFile, env: process.env },
})

async function unlockSecrets(config: Config, alone: boolean): Promise<Sealer> {
  const sealer = unlock(keyPlaces(config), sqliteSealing, Date.now())
  // It rewrites the whole database, once: for a daemon before it serves, never beside one.
  if (alone) cleanOnce(config.data_dir, sqliteSealing, Date.now())
  return sealer
}

/** How secrets are stored, without changing anything. */
export const lookAtSecrets = (config: Config): SecretsStatus =>
  secretsStatus(keyPlaces(config), sqliteSealing)

/** Exchanges the master key. Rejects with a sentence for people while a daemon runs. */
export async function rekeySecrets(config: Config, newKeyFile: string | undefined): Promise<Rekeyed> {
  const lock = await lockDataDir(config.data_dir)
  try {
    return rekey({ ...keyPlaces(config), newKeyFile }, sqliteSealing, Date.now())
  } finally {
    lock.release()
  }
}

/** Makes this process the one daemon of the data directory. Rejects with a sentence for people. */
export const lockDirectory = ({ data_dir: dataDir }: Config): ReturnType<typeof lockDataDir> =>
  orCannotStart(lockDataDir(dataDir))

/** What the storage refuses is a reason not to start: a line for people, no stack. */
async function orCannotStart<T>(step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (error) {
    const known = error instanceof StorageRefused || error instanceof MasterKeyRefused
    throw known ? new CannotStart(error.message, { cause: error }) : error
  }
}

/**
 * Makes a backup of the appliance, running or not, without changing it.
 * @param source the file that the configuration came from
 */
export async function makeBackup(
  config: Config,
  source: string | null,
  {
    withKey,
    ...options
  }: {
    file: string
    bodies: boolean
    verify: boolean
    withKey: boolean
    encryption?: Encryption | undefined
  },
  now: number,
): Promise<BackupDone> {
  const configuration = await configurationFiles(config, source)
  const masterKey = (id: string) => (withKey ? ownKey(keyPlaces(config), id) : undefined)
  return backUp({ ...options, dataDir: config.data_dir, configuration, version: VERSION, masterKey }, now)
}

/** The files that say how the appliance is set up; a backup keeps them beside. */
async function configurationFiles({ tls, delivery, limits, doctor }: Config, source: string | null) {
  const named: [`config/${string}`, string | null | undefined][] = [
    ['config/posthaste.toml', source],
    ['config/tls-cert.pem', tls.cert],
    ['config/tls-key.pem', tls.key],
    ...tls.additional.flatMap(({ cert, key }, at): [`config/${string}`, string][] => [
      [`config/tls-cert-${at + 1}.pem`, cert],
      [`config/tls-key-${at + 1}.pem`, key],
    ]),
    ['config/bounces.toml', delivery.bounces],
    ['config/returned-mail.toml', delivery.returned_mail],
    ['config/providers.toml', delivery.providers],
    ['config/plans.toml', limits.plans],
    ['config/blocklists.toml', doctor.blocklists],
    ['config/doctor.toml', doctor.targets],
  ]
  const given = named.flatMap(([name, path]) => (path === null || path === undefined ? [] : [{ name, path }]))
  return Promise.all(given.map(async ({ name, path }) => ({ name, bytes: await readFile(path) })))
}

/** Whether there is something to open; a look makes no database, which a restore would refuse to write over. */
export const hasStorage = ({ data_dir: dataDir }: Config): boolean => hasDatabase(dataDir)

/** The audit log beside a daemon, or without one; the database is not brought up to date. */
export const auditLogOf = ({ data_dir: dataDir }: Config): Pick<Storage, 'appendAudit'> => ({
  appendAudit: ({ entry }) =>
    new Promise((resolve) => {
      appendEntry({ dataDir, entry })
      resolve()
    }),
})

/** Restores a backup into an empty directory, on hold. */
export async function restoreBackup(
  options: { file: string; dataDir: string; by: Actor; decryption?: Decryption | undefined },
  now: number,
): Promise<Restored> {
  return restore(options, now)
}

/** The copies of the database from before upgrades, newest last. */
export const snapshotsOf = ({ data_dir: dataDir }: Config): Snapshot[] => listSnapshots(dataDir)

/** Number of the newest schema that this program knows. */
export const schemaVersion = (): number => newestSchema()
