import { systemClock } from '../clock/clock.ts'
import { findConfig } from '../config/config.ts'
import { recordAct } from '../accounts/audit.ts'
import type { BackupAbout } from '../storage/storage.ts'
import { Failure, reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { noteBackup } from './last-backup.ts'
import { readEncryption } from './key-files.ts'
import { bytes, createOutput, paragraph, type Output } from './output.ts'
import { thisPerson } from './queue-change.ts'
import { resolve } from 'node:path'
import { fileReason } from './failure.ts'

/** The options of `backup`; commander sets them to true unless `--no-…` is given. */
export interface BackupOptions extends CommonOptions {
  bodies: boolean
  verify: boolean
  masterKey: boolean
  recipient?: string[]
  passphraseFile?: string
}

/** `backup`: doesn't open the storage, because that would migrate it. Returns the exit code. */
export async function makeBackup(file: string, options: BackupOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { loaded } = findConfig({ file: options.config, env: process.env })
    const { config, source } = requireValidConfig(loaded)
    const { makeBackup, auditLogOf } = await adapters()
    const { bodies, verify, masterKey: withKey } = options
    const encryption = readEncryption(options)
    const encrypted = encryption !== undefined
    const path = resolve(file)
    const { about, size, verified } = await refused(() =>
      makeBackup(config, source, { file: path, bodies, verify, withKey, encryption }, systemClock.now()),
    )
    const { counts, schema, masterKey } = about
    const made = { path, bodies, size, verified, encrypted }
    await told(output, 'the audit log', () => record(auditLogOf(config), made))
    const note = { at: about.createdAt, file: path, size, verified }
    await told(output, 'the backup record for posthaste status', () => noteBackup(config.data_dir, note))
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
      `Wrote ${path}: ${bytes(size)}, schema ${schema}, ${counts.emails} emails, ${counts.waiting} queued deliveries.`,
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
function keyLines({ masterKey }: BackupAbout): string[] {
  if (!masterKey) return []
  return masterKey.included
    ? [`It includes the master key ${masterKey.id}, which decrypts its secrets.`]
    : paragraph(
        `It does not include the master key ${masterKey.id}, which decrypts its secrets. Keep a copy of the key: without it, the restored server has no DKIM keys.`,
      )
}

async function record(
  log: ReturnType<Awaited<ReturnType<Adapters>>['auditLogOf']>,
  {
    path,
    bodies,
    encrypted,
    size,
    verified,
  }: { path: string; bodies: boolean; encrypted: boolean; size: number; verified: boolean },
): Promise<void> {
  await recordAct(log, systemClock, {
    teamId: null,
    actor: thisPerson(),
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
    output.error(`The backup was created, but ${what} could not be written: ${fileReason(error)}`)
  }
}

/** Turns file errors into one-line failures that say what to do. */
export async function refused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException
    if (name === 'StorageRefused' || code !== undefined)
      throw new Failure(fileReason(error), { cause: error })
    throw error
  }
}
