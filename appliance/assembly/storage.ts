/** Opens the storage: engine, decorators, and operations on the data directory. */
import { readFile } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import type { Clock } from '../clock/clock.ts'
import type { Actor } from '../mail/audit.ts'
import {
  wipeOldValues,
  MasterKeyError,
  readGeneratedKeyFile,
  rekey,
  sealStorage,
  getSecretsStatus,
  openSealer,
  type KeyLocations,
  type RekeyResult,
  type Sealer,
  type SecretsStatus,
} from '../secrets/secrets.ts'
import {
  moveToPostgres,
  moveToSqlite,
  newestPostgresSchema,
  openPostgres,
  createPostgresSealing,
  openPostgresReader,
  type PostgresTarget,
  type StorageLog,
} from '../storage/postgres/postgres.ts'
import { cacheLookups } from '../storage/lookup-cache.ts'
import { guardDiskSpace, type DiskSpaceOptions } from '../storage/disk-guard.ts'
import {
  appendEntry,
  createBackupArchive,
  hasDatabase,
  listSnapshots,
  lockDataDir,
  makeDirectory,
  newestSchema,
  openSqlite,
  openSqliteReader,
  restore,
  sqliteSealing,
  StorageRefused,
  type Decryption,
  type Encryption,
  type SqliteStorage,
} from '../storage/sqlite/sqlite.ts'
import type {
  BackupResult,
  MoveResult,
  StorageMoveOptions,
  ReadOnlyStorage,
  RestoreResult,
  SealingStorage,
  Snapshot,
  Storage,
} from '../storage/storage.ts'
import { createBodies } from './bodies.ts'
import { loadOrCreateNodeId } from './node-id.ts'
import { databaseName, loadPostgresTarget } from './postgres.ts'
import { VERSION } from './version.ts'
import { armCrashPoint } from '../watch/crash-points.ts'
import { measureStorage, type WriteState } from '../watch/observed-storage.ts'
import type { Instruments } from '../watch/metrics.ts'
import { StartupError } from '../wire/listeners.ts'

/** Options for opening the storage. */
interface OpenOptions {
  /** Called when the engine has failed and can neither read nor write any more. */
  onLost?: ((error: Error) => void) | undefined
  /** Called when events were stored. */
  onEvents?: (() => void) | undefined
  /** Folder with the PostgreSQL migrations of another version of the program, for tests. */
  migrations?: string | undefined
  /** Whether the caller has locked the data directory, and no client is served yet. */
  alone?: boolean
  /** Where to report what happens in the background. */
  logger?: StorageLog | undefined
}

/**
 * Opens the storage; creates or migrates it if necessary. Rejects with a message for people. Secrets are encrypted
 * below the cache, so cached secrets are decrypted.
 */
export async function openStorage(
  config: Config,
  { onLost, onEvents, migrations, logger, alone = false }: OpenOptions = {},
): Promise<SqliteStorage> {
  const refused = armCrashPoint(process.env, config.data_dir)
  if (refused !== undefined) throw new StartupError(refused)
  const engine = await orCannotStart(openEngine(config, { onLost, onEvents, migrations, logger, alone }))
  try {
    return cacheLookups(sealStorage(engine, await orCannotStart(unlockSecrets(config, alone))))
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function openEngine(
  config: Config,
  { alone, migrations, ...listeners }: OpenOptions,
): Promise<SqliteStorage> {
  const { data_dir: dataDir } = config
  const target = loadPostgresTarget(config)
  const bodies = await createBodies(config, { isServing: alone === true, logger: listeners.logger })
  if (target === undefined) return openSqlite({ dataDir, bodies, ...listeners })
  // The data directory is for keys, certificates and uploaded files, which stay on this machine.
  await makeDirectory(dataDir)
  const lock = alone ? { node: await loadOrCreateNodeId(config) } : undefined
  return openPostgres({ ...target, lock, dataDir, migrations, bodies, ...listeners })
}

/** Opens the storage for reading only: creates, migrates and writes nothing. Secrets stay encrypted. */
export async function openReadOnlyStorage(config: Config): Promise<ReadOnlyStorage> {
  const target = loadPostgresTarget(config)
  return orCannotStart(target === undefined ? openSqliteReader(config.data_dir) : openPostgresReader(target))
}

/** Additional options for a daemon's storage. */
export interface DaemonStorageOptions extends OpenOptions {
  room: DiskSpaceOptions
  instruments: Instruments
  clock: Clock
}

/**
 * Opens the storage of a daemon. Layers from inside to outside: engine, encryption, cache, disk space check, metrics.
 */
export async function openDaemonStorage(
  config: Config,
  { room, instruments, clock, ...options }: DaemonStorageOptions,
): Promise<{ storage: SqliteStorage; writes: WriteState }> {
  const opened = await openStorage(config, { ...options, alone: true })
  return measureStorage(guardDiskSpace(opened, room), instruments, clock)
}

/** Returns the possible locations of the master key. */
const keyPlaces = ({ data_dir: dataDir, secrets: { master_key_file: keyFile } }: Config): KeyLocations => ({
  dataDir,
  keyFile,
  env: process.env,
})

async function unlockSecrets(config: Config, alone: boolean): Promise<Sealer> {
  return withSealing(config, (storage) => {
    const sealer = openSealer(keyPlaces(config), storage, Date.now())
    // Rewrites a whole SQLite database, once. This must happen before the daemon serves clients, and never while
    // another one runs.
    if (alone) wipeOldValues(config.data_dir, storage, Date.now())
    return sealer
  })
}

/** Passes the operations on all secrets to `work`. @param alone whether to refuse a PostgreSQL database in use */
function withSealing<T>(config: Config, work: (storage: SealingStorage) => T, alone = false): T {
  const target = loadPostgresTarget(config)
  if (target === undefined) return work(sqliteSealing)
  const storage = createPostgresSealing(target, alone ? 'alone' : undefined)
  try {
    return work(storage)
  } finally {
    storage.close()
  }
}

/** Returns how secrets are stored, without changing anything. */
export const inspectSecrets = (config: Config): SecretsStatus =>
  withSealing(config, (storage) => getSecretsStatus(keyPlaces(config), storage))

/** Replaces the master key. Rejects with a message for people while a daemon runs. */
export async function rekeySecrets(config: Config, newKeyFile: string | undefined): Promise<RekeyResult> {
  const lock = await lockDataDir(config.data_dir)
  try {
    const places = { ...keyPlaces(config), newKeyFile }
    return withSealing(config, (storage) => rekey(places, storage, Date.now()), true)
  } finally {
    lock.release()
  }
}

/** Makes this process the only daemon of the data directory. Rejects with a message for people. */
export const lockDirectory = ({ data_dir: dataDir }: Config): ReturnType<typeof lockDataDir> =>
  orCannotStart(lockDataDir(dataDir))

/** Turns a refusal of the storage into a startup error: one line for people, without a stack trace. */
async function orCannotStart<T>(step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (error) {
    const known = error instanceof StorageRefused || error instanceof MasterKeyError
    throw known ? new StartupError(error.message, { cause: error }) : error
  }
}

/**
 * Creates a backup of the server, running or not, without changing it.
 *
 * @param source path of the configuration file
 */
export async function createBackup(
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
): Promise<BackupResult> {
  if (config.storage.engine === 'postgres')
    throw new StorageRefused(
      `The mail is in PostgreSQL (${databaseName(config)}). Back it up with pg_dump or the server's own backups, and copy ${config.data_dir} with its keys, except the file bucket-writer (docs/postgresql.md). Nothing was written.`,
    )
  const configuration = await configurationFiles(config, source)
  const masterKey = (id: string) => (withKey ? readGeneratedKeyFile(keyPlaces(config), id) : undefined)
  return createBackupArchive(
    {
      ...options,
      dataDir: config.data_dir,
      hasBucket: config.s3.bucket !== undefined,
      configuration,
      version: VERSION,
      masterKey,
    },
    now,
  )
}

/** Returns the configuration files that a backup includes. */
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

/**
 * Reports whether there is a storage to open. Checks must not create a database, or a restore would refuse to overwrite
 * it. PostgreSQL has no such restore, so its database may get tables.
 */
export const hasStorage = ({ data_dir: dataDir, storage }: Config): boolean =>
  storage.engine === 'postgres' || hasDatabase(dataDir)

/** Opens the audit log, with or without a running daemon; doesn't migrate a SQLite database. */
export const openAuditLog = (config: Config): Pick<Storage, 'appendAudit'> => ({
  async appendAudit(args, now) {
    const target = loadPostgresTarget(config)
    if (target === undefined) return appendEntry({ dataDir: config.data_dir, entry: args.entry })
    const storage = await openPostgres(target)
    try {
      await storage.appendAudit(args, now)
    } finally {
      await storage.close()
    }
  },
})

/** Restores a backup into an empty directory, with all mail on hold. */
export async function restoreBackup(
  options: { file: string; dataDir: string; by: Actor; decryption?: Decryption | undefined },
  now: number,
): Promise<RestoreResult> {
  return restore(options, now)
}

/**
 * Moves the mail of the data directory to an empty PostgreSQL database.
 *
 * @param to the configuration with the target as its storage
 * @throws StorageRefused with the reason
 */
export async function moveStorage(
  config: Config,
  to: Config,
  options: StorageMoveOptions,
  now: number,
): Promise<MoveResult> {
  const { data_dir: dataDir } = config
  if (config.storage.engine === 'postgres')
    throw new StorageRefused(
      `storage.engine is already "postgres". To move the mail of ${dataDir}, set it to "sqlite" until the move has finished.`,
    )
  if (!hasDatabase(dataDir)) throw new StorageRefused(`There is no database in ${dataDir}.`)
  const refused = armCrashPoint(process.env, dataDir)
  if (refused !== undefined) throw new StorageRefused(refused)
  const { keyId, trouble } = inspectSecrets(config)
  if (trouble !== null) throw new StorageRefused(trouble)
  if (keyId === null)
    throw new StorageRefused(`The secrets in ${dataDir} are not encrypted yet. First run: posthaste migrate`)
  const target = targetOf(to)
  return moveToPostgres({ ...options, dataDir, target, database: databaseName(to) }, now)
}

/**
 * Moves the mail of the PostgreSQL database to an empty SQLite database in the data directory.
 *
 * @throws StorageRefused with the reason
 */
export async function moveStorageBack(
  config: Config,
  options: StorageMoveOptions,
  now: number,
): Promise<MoveResult> {
  const { data_dir: dataDir } = config
  if (config.storage.engine !== 'postgres')
    throw new StorageRefused(
      `storage.engine is already "sqlite". To move mail from PostgreSQL to ${dataDir}, set it to "postgres" until the move has finished.`,
    )
  const refused = armCrashPoint(process.env, dataDir)
  if (refused !== undefined) throw new StorageRefused(refused)
  const { trouble } = inspectSecrets(config)
  if (trouble !== null) throw new StorageRefused(trouble)
  return moveToSqlite({ ...options, dataDir, source: targetOf(config) }, now)
}

function targetOf(config: Config): PostgresTarget {
  try {
    return loadPostgresTarget(config)!
  } catch (error) {
    if (error instanceof StartupError) throw new StorageRefused(error.message)
    throw error
  }
}

/** Lists the copies of the database from before upgrades, newest last. Only SQLite databases are copied. */
export const listUpgradeSnapshots = ({ data_dir: dataDir, storage }: Config): Snapshot[] =>
  storage.engine === 'postgres' ? [] : listSnapshots(dataDir)

/**
 * Returns the version of the newest schema that this program supports.
 * @param migrations folder with the PostgreSQL migrations of another version of the program, for tests
 */
export const schemaVersion = ({ storage }: Pick<Config, 'storage'>, migrations?: string): number =>
  storage.engine === 'postgres' ? newestPostgresSchema(migrations) : newestSchema()

export { databaseName } from './postgres.ts'
