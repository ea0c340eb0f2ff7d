import { resolve } from 'node:path'
import { recordAuditEntry } from '../accounts/audit.ts'
import { systemClock } from '../clock/clock.ts'
import { findConfig, type Config } from '../config/config.ts'
import type { Snapshot } from '../storage/storage.ts'
import { Failure, reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { createOutput, formatInstant, wrapParagraph, formatTable } from './output.ts'
import { getCommandLineActor } from './queue-change.ts'
import { describeFileError } from './failure.ts'
import type { Registrar } from './registrar.ts'

/** The first schema version with encrypted secrets. Older copies of the database contain plain text. */
const SEALED_SINCE = 37

/**
 * `secrets status`: prints the master key's source and whether all secrets are encrypted. Doesn't open the storage.
 * Exit code 1 if the key can't be used.
 */
async function showSecrets(options: CommonOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { config } = requireValidConfig(findConfig({ file: options.config, env: process.env }).loaded)
    const { inspectSecrets, listUpgradeSnapshots } = await adapters()
    const { keyId, source, trouble, sealedAt, cleanedAt, counts } = await refused(() =>
      inspectSecrets(config),
    )
    const plain = listUpgradeSnapshots(config).filter(({ schema }) => schema < SEALED_SINCE)
    output.object({
      object: 'secrets',
      key_id: keyId,
      source,
      usable: trouble === null,
      sealed_at: sealedAt === null ? null : new Date(sealedAt).toISOString(),
      cleaned_at: cleanedAt === null ? null : new Date(cleanedAt).toISOString(),
      counts,
      plain_snapshots: plain.map(({ file }) => file),
    })
    output.text(
      keyId === null
        ? 'The secrets are not encrypted yet. The next start encrypts them.'
        : `Encrypted with the master key ${keyId} since ${formatInstant(sealedAt)} UTC.`,
      `Key source: ${source}`,
      '',
      ...formatTable(
        ['SECRETS', 'ENCRYPTED', 'PLAIN'],
        counts.map(({ kind, sealed, plain: open }) => [kind, String(sealed), String(open)]),
      ),
      ...(trouble === null ? [] : ['', ...wrapParagraph(trouble)]),
      ...(keyId === null || cleanedAt !== null ? [] : ['', ...wrapParagraph(NOT_CLEANED)]),
      ...snapshotLines(plain),
    )
    return trouble === null ? 0 : 1
  })
}

const NOT_CLEANED =
  'Plain copies of the secrets may remain in free space of the database. The next start erases them, if the disk has as much free space as the database uses.'

function snapshotLines(plain: Snapshot[]): string[] {
  if (plain.length === 0) return []
  const what =
    'Snapshots from before the upgrade contain plain secrets. Delete them once you no longer need to go back:'
  return ['', ...wrapParagraph(what), ...plain.map(({ file }) => `  ${file}`)]
}

/** The options of `secrets rekey`. */
export interface RekeyOptions extends CommonOptions {
  newKeyFile?: string
}

/** `secrets rekey`: encrypts all secrets with a new master key, while no daemon runs. */
async function rekeySecrets(options: RekeyOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { config } = requireValidConfig(findConfig({ file: options.config, env: process.env }).loaded)
    const { rekeySecrets, hasStorage } = await adapters()
    if (!hasStorage(config))
      throw new Failure(`There is no database in ${config.data_dir}, so there is nothing to encrypt.`)
    const file = options.newKeyFile === undefined ? undefined : resolve(options.newKeyFile)
    const done = await refused(() => rekeySecrets(config, file))
    const { from, to, source, handOver, cleaned } = done
    try {
      await record(await adapters(), config, { from, to })
    } catch (error) {
      output.error(
        `The key was replaced, but the audit log entry could not be written: ${describeFileError(error)}`,
      )
    }
    output.object({ object: 'secrets.rekey', from, to, source, hand_over: handOver, cleaned })
    output.text(
      `All secrets are encrypted with the master key ${to}. The old key ${from} is no longer used.`,
      ...wrapParagraph(
        handOver
          ? `Before the next start, put the new key from ${file} where the old one came from: ${source}.`
          : `The new key is in ${source}. Make a backup now, or store a copy of the key elsewhere. Older backups need the old key.`,
      ),
      ...(cleaned ? [] : wrapParagraph(NOT_CLEANED)),
    )
    return 0
  })
}

async function record(
  { openAuditLog }: Awaited<ReturnType<Adapters>>,
  config: Config,
  after: { from: string; to: string },
): Promise<void> {
  await recordAuditEntry(openAuditLog(config), systemClock, {
    teamId: null,
    actor: getCommandLineActor(),
    action: 'secrets.rekey',
    target: 'secrets',
    details: { command: 'secrets rekey' },
    after,
  })
}

/** Turns errors of the storage and master key into one-line failures. */
async function refused<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException
    if (['StorageRefused', 'MasterKeyError', 'SecretRefused'].includes(name))
      throw new Failure((error as Error).message, { cause: error })
    if (code !== undefined) throw new Failure(describeFileError(error), { cause: error })
    throw error
  }
}

/** Registers `secrets`, about the master key. */
export function registerSecretsCommands({ group, add, finish }: Registrar, adapters: Adapters): void {
  const secrets = group('secrets', 'Manage the master key that encrypts stored secrets')
  add('status', 'Show the master key ID, its source, and whether all secrets are encrypted', secrets).action(
    async (options: RekeyOptions) => finish(await showSecrets(options, adapters)),
  )
  add('rekey', 'Encrypt all secrets with a new master key; the server must be stopped', secrets)
    .option('--new-key-file <file>', 'File with the new key: 32 bytes in base64 (default: generate one)')
    .action(async (options: RekeyOptions) => finish(await rekeySecrets(options, adapters)))
}
