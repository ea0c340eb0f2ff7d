import { Option } from 'commander'
import { systemClock } from '../clock/clock.ts'
import { findConfig, withoutPassword, type Config } from '../config/config.ts'
import type { MoveResult, StorageMoveOptions } from '../storage/storage.ts'
import { wrapFileErrors } from './backup.ts'
import {
  Failure,
  UsageError,
  reportFailure,
  requireValidConfig,
  type Adapters,
  type CommonOptions,
} from './context.ts'
import { createOutput, wrapParagraph, formatTable, type Output } from './output.ts'
import { getCommandLineActor } from './queue-change.ts'
import type { Registrar } from './registrar.ts'

interface MigrateStorageOptions extends CommonOptions {
  to: string
  passwordFile?: string
  tls?: string
  tlsCa?: string
  dryRun?: boolean
}

/** Settings of the target database. Each has an option, an environment variable, and a key in the configuration. */
const SETTINGS = [
  { option: '--to', variable: 'POSTHASTE_STORAGE__URL', key: 'url', read: 'to' },
  {
    option: '--password-file',
    variable: 'POSTHASTE_STORAGE__PASSWORD_FILE',
    key: 'password_file',
    read: 'passwordFile',
  },
  { option: '--tls', variable: 'POSTHASTE_STORAGE__TLS', key: 'tls', read: 'tls' },
  { option: '--tls-ca', variable: 'POSTHASTE_STORAGE__TLS_CA', key: 'tls_ca', read: 'tlsCa' },
] as const

/** Value of `--to` for the way back. */
const SQLITE = 'sqlite'

/** `migrate-storage`: moves all data to PostgreSQL, or back to SQLite. Returns the exit code. */
async function migrateStorage(options: MigrateStorageOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { sandbox, loaded } = findConfig({ file: options.config, env: process.env })
    if (sandbox) throw new Failure('There is no configuration file. The sandbox always uses SQLite.')
    const { config, source } = requireValidConfig(loaded)
    const isBack = options.to === SQLITE
    if (isBack) refuseWithoutEffect(options)
    const to = isBack ? undefined : targetConfig(options)
    const { moveStorage, moveStorageBack, databaseName } = await adapters()
    const dryRun = options.dryRun === true
    const act = { by: getCommandLineActor(), dryRun, onProgress: createProgress(output) }
    const now = systemClock.now()
    const done = await wrapFileErrors(() =>
      to ? moveStorage(config, to, act, now) : moveStorageBack(config, act, now),
    ).catch(to ? inOptions : rethrow)
    const lines = settingsOf(options)
    const database = to ? databaseName(to) : config.data_dir
    output.object({
      object: 'storage_move',
      id: done.moveId,
      dry_run: dryRun,
      resumed: done.resumed,
      data_dir: config.data_dir,
      database,
      held: done.held.deliveries,
      broadcasts_paused: done.held.broadcasts,
      texts_changed: done.replaced,
      tables: done.tables,
      settings: { engine: to ? 'postgres' : 'sqlite', ...Object.fromEntries(lines) },
      release_command: dryRun ? null : releaseCommand(done),
    })
    const place = source ?? 'the configuration'
    const change = to ? changeToPostgres(config, place, lines) : changeToSqlite(place)
    output.text(...describeMove(done, database, dryRun), ...(dryRun ? [] : [...change, ...nextSteps(done)]))
    return 0
  })
}

/** Refuses options about a PostgreSQL target. */
function refuseWithoutEffect(options: MigrateStorageOptions): void {
  const given = SETTINGS.find(({ key, read }) => key !== 'url' && options[read] !== undefined)
  if (given)
    throw new UsageError(`${given.option} has no effect with --to sqlite. The source is storage.url.`)
}

function rethrow(error: unknown): never {
  throw error
}

/** Describes what was moved, or would be. */
function describeMove(done: MoveResult, database: string, dryRun: boolean): string[] {
  const moved = done.tables.filter(({ rows }) => rows > 0)
  const rows = moved.reduce((sum, one) => sum + one.rows, 0)
  return [
    dryRun
      ? `Would move ${rows} rows of ${moved.length} tables to ${database}. Nothing was changed.`
      : `Moved ${rows} rows of ${moved.length} tables to ${database}. All rows were compared and are equal.`,
    '',
    ...formatTable(
      ['TABLE', 'ROWS', 'SHA-256'],
      moved.map((one) => [one.name, String(one.rows), one.sha256?.slice(0, 16) ?? '-']),
    ),
    '',
    ...(done.replaced === 0
      ? []
      : wrapParagraph(
          `${done.replaced} texts contained U+0000, which PostgreSQL can't store. It was replaced with U+FFFD.`,
        )),
  ]
}

/** Returns the configuration with the target as its storage. Errors name the options. */
function targetConfig(options: MigrateStorageOptions): Config {
  const given = SETTINGS.flatMap(({ variable, read }) => {
    const value = options[read]
    return value === undefined ? [] : [[variable, value] as const]
  })
  const env = { ...process.env, POSTHASTE_STORAGE__ENGINE: 'postgres', ...Object.fromEntries(given) }
  const { loaded } = findConfig({ file: options.config, env })
  if (!('complaints' in loaded)) return requireValidConfig(loaded).config
  const complaints = loaded.complaints.map((one) => ({
    ...one,
    variable: SETTINGS.find(({ variable }) => variable === one.variable)?.option ?? one.variable,
  }))
  return requireValidConfig({ complaints }).config
}

/** Rethrows an error about the settings with the names of the options. */
function inOptions(error: unknown): never {
  if (!(error instanceof Failure)) throw error
  const named = (text: string, { key, option }: { key: string; option: string }): string =>
    text.replaceAll(new RegExp(`\\bstorage\\.${key}\\b`, 'g'), option)
  throw new Failure(SETTINGS.reduce(named, error.message), { cause: error })
}

/** Returns the settings to add to the configuration, without a password. */
function settingsOf(options: MigrateStorageOptions): [key: string, value: string][] {
  return SETTINGS.flatMap(({ key, read }): [string, string][] => {
    const value = options[read]
    if (value === undefined) return []
    if (key === 'url' && value === SQLITE) return []
    return [[key, key === 'url' ? withoutPassword(value) : value]]
  })
}

const releaseCommand = ({ moveId, held }: MoveResult): string | null =>
  held.deliveries === 0 ? null : `posthaste queue undo ${moveId}`

/** Says which settings to change after a move to PostgreSQL. */
const changeToPostgres = (
  { data_dir: dataDir }: Config,
  place: string,
  lines: [string, string][],
): string[] => [
  `Change [storage] in ${place}, or the environment variables POSTHASTE_STORAGE__…:`,
  '',
  '  engine = "postgres"',
  ...lines.map(([key, value]) => `  ${key} = ${JSON.stringify(value)}`),
  '',
  ...wrapParagraph(
    `Set the password with storage.password_file if the server asks for one. Keep ${dataDir}: it has the master key and certificates. Its database is unchanged, and can't be started by mistake.`,
  ),
]

/** Says which settings to change after a move back to SQLite. */
const changeToSqlite = (place: string): string[] => [
  `Remove [storage] from ${place}, or the environment variables POSTHASTE_STORAGE__…`,
  '',
  ...wrapParagraph(
    "SQLite is the default. The PostgreSQL database is unchanged except for the table moved_away, so it can't be used by mistake. Drop the database when you don't need it any more.",
  ),
]

function nextSteps(done: MoveResult): string[] {
  const { deliveries, broadcasts } = done.held
  const release = releaseCommand(done)
  return [
    ...(release === null
      ? ['Then start Posthaste. No deliveries were queued.']
      : [
          'Then start Posthaste, check the moved data, and release the held deliveries:',
          '',
          '  posthaste queue list --state held',
          `  ${release}`,
          '',
          `${deliveries === 1 ? '1 delivery is' : `${deliveries} deliveries are`} on hold. New mail is sent as usual.`,
        ]),
    ...(broadcasts === 0
      ? []
      : wrapParagraph(`${broadcasts} broadcasts are paused. Resume each: posthaste broadcast resume ID`)),
  ]
}

/** Minimum time between two progress lines about the same table, in milliseconds. */
const PROGRESS_MS = 5000

/** Returns a listener that prints progress on standard error. */
function createProgress(output: Output): StorageMoveOptions['onProgress'] {
  let last = 0
  return ({ table: name, rows, of, phase }) => {
    const now = systemClock.now()
    if (rows < of && now - last < PROGRESS_MS) return
    last = now
    output.error(`${phase === 'copy' ? 'Copied' : 'Compared'} ${name}: ${rows} of ${of}`)
  }
}

/** Registers `migrate-storage`. */
export function registerMigrateStorageCommand({ add, finish }: Registrar, adapters: Adapters): void {
  add('migrate-storage', 'Move all data from SQLite to PostgreSQL, or back; the server must be stopped')
    .requiredOption(
      '--to <url>',
      'Empty PostgreSQL database, postgres://user@host/name, or sqlite for the way back to data_dir',
    )
    .option('--password-file <file>', 'File with the password of the PostgreSQL user')
    .addOption(
      new Option('--tls <mode>', 'Encryption of the connection').choices(['verify', 'require', 'off']),
    )
    .option('--tls-ca <file>', 'Certificate authorities of the PostgreSQL server')
    .option('--dry-run', 'Show what would be moved, without changing anything')
    .action(async (options: MigrateStorageOptions) => finish(await migrateStorage(options, adapters)))
}
