import { systemClock } from '../clock/clock.ts'
import { findConfig } from '../config/config.ts'
import { recordAuditEntry } from '../accounts/audit.ts'
import type { BackupMetadata } from '../storage/storage.ts'
import { Failure, reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { saveBackupRecord } from './last-backup.ts'
import { parseEncryptionOptions } from './key-files.ts'
import { formatBytes, createOutput, wrapParagraph, type Output } from './output.ts'
import { getCommandLineActor } from './queue-change.ts'
import { resolve } from 'node:path'
import { describeFileError } from './failure.ts'

/** The options of `backup`; commander sets them to true unless `--no-…` is given. */
export interface BackupOptions extends CommonOptions {
  bodies: boolean
  verify: boolean
  masterKey: boolean
  recipient?: string[]
  passphraseFile?: string
}

/** `backup`: doesn't open the storage, because that would migrate it. Returns the exit code. */
export async function createBackup(
  file: string,
  options: BackupOptions,
  adapters: Adapters,
): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { loaded } = findConfig({ file: options.config, env: process.env })
    const { config, source } = requireValidConfig(loaded)
    const { createBackup, openAuditLog } = await adapters()
    const { bodies, verify, masterKey: withKey } = options
    const encryption = parseEncryptionOptions(options)
    const encrypted = encryption !== undefined
    const path = resolve(file)
    const { about, size, verified } = await wrapFileErrors(() =>
      createBackup(config, source, { file: path, bodies, verify, withKey, encryption }, systemClock.now()),
    )
    const { counts, schema, masterKey } = about
    const made = { path, bodies, size, verified, encrypted }
    await told(output, 'the audit log', () => record(openAuditLog(config), made))
    const note = { at: about.createdAt, file: path, size, verified }
    await told(output, 'the backup record for posthaste status', () =>
      saveBackupRecord(config.data_dir, note),
    )
    output.object({
      object: 'backup',
      file: path,
      size,
      verified,
      schema,
      bodies,
      encrypted,
      master_key: masterKey ?? null,
      created_at: new Date(about.createdAt).toISOString(),
      counts,
    })
    output.text(
      `Wrote ${path}: ${formatBytes(size)}, schema ${schema}, ${counts.emails} emails, ${counts.waiting} queued deliveries.`,
      verified ? 'Verified by restoring it into a scratch directory.' : 'Not verified.',
      ...keyLines(about),
      encrypted
        ? 'The backup is encrypted. Store its key or passphrase somewhere else than on this server.'
        : 'The backup contains mail and private keys. Store it where no one else can read it, or encrypt it with --recipient.',
    )
    return 0
  })
}

/** Returns lines that say whether the backup has everything that a restore needs. */
function keyLines({ masterKey }: BackupMetadata): string[] {
  if (!masterKey) return []
  return masterKey.included
    ? [`It includes the master key ${masterKey.id}, which decrypts its secrets.`]
    : wrapParagraph(
        `It does not include the master key ${masterKey.id}, which decrypts its secrets. Keep a copy of the key: without it, the restored server has no DKIM keys.`,
      )
}

async function record(
  log: ReturnType<Awaited<ReturnType<Adapters>>['openAuditLog']>,
  {
    path,
    bodies,
    encrypted,
    size,
    verified,
  }: { path: string; bodies: boolean; encrypted: boolean; size: number; verified: boolean },
): Promise<void> {
  await recordAuditEntry(log, systemClock, {
    teamId: null,
    actor: getCommandLineActor(),
    action: 'backup.create',
    target: 'backup',
    details: { command: 'backup', arguments: [path], bodies, encrypted },
    after: { size, verified },
  })
}

/**
 * Writes information about a backup. Failures, such as those of a full disk, are only reported, because the backup
 * itself is complete.
 */
async function told(output: Output, what: string, write: () => void | Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    output.error(`The backup was created, but ${what} could not be written: ${describeFileError(error)}`)
  }
}

/** Turns file errors into one-line failures that say what to do. */
export async function wrapFileErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException
    if (name === 'StorageRefused' || code !== undefined)
      throw new Failure(describeFileError(error), { cause: error })
    throw error
  }
}
