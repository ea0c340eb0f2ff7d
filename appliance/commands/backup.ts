import { systemClock } from '../clock/clock.ts'
import { findConfig } from '../config/config.ts'
import { recordAct } from '../accounts/audit.ts'
import { Failure, reportFailure, soundConfig, type Adapters, type CommonOptions } from './context.ts'
import { fileReason } from './file-reason.ts'
import { noteBackup } from './last-backup.ts'
import { bytes, createOutput, type Output } from './output.ts'
import { thisPerson } from './queue-change.ts'
import { resolve } from 'node:path'

/** The options of `backup`; commander makes them true unless `--no-` is said. */
export interface BackupOptions extends CommonOptions {
  bodies: boolean
  verify: boolean
}

/** `backup`: does not open the storage, which would bring it up to date. Returns the exit code. */
export async function makeBackup(file: string, options: BackupOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { loaded } = findConfig({ file: options.config, env: process.env })
    const { config, source } = soundConfig(loaded)
    const { makeBackup, auditLogOf } = await adapters()
    const { bodies, verify } = options
    const path = resolve(file)
    const { about, size, verified } = await refused(() =>
      makeBackup(config, source, { file: path, bodies, verify }, systemClock.now()),
    )
    const { counts, schema } = about
    await told(output, 'the audit log', () => record(auditLogOf(config), { path, bodies, size, verified }))
    const note = { at: about.createdAt, file: path, size, verified }
    await told(output, 'the backup record for posthaste status', () => noteBackup(config.data_dir, note))
    output.object({
      object: 'backup',
      file: path,
      size,
      verified,
      schema,
      bodies,
      created_at: new Date(about.createdAt).toISOString(),
      counts,
    })
    output.text(
      `Wrote ${path}: ${bytes(size)}, schema ${schema}, ${counts.emails} emails, ${counts.waiting} queued deliveries.`,
      verified ? 'Verified by restoring it into a scratch directory.' : 'Not verified.',
      'The file contains private keys and mail. Store it where no one else can read it.',
    )
    return 0
  })
}

async function record(
  log: ReturnType<Awaited<ReturnType<Adapters>>['auditLogOf']>,
  { path, bodies, size, verified }: { path: string; bodies: boolean; size: number; verified: boolean },
): Promise<void> {
  await recordAct(log, systemClock, {
    ...{ teamId: null, actor: thisPerson(), action: 'backup.create', target: 'backup' },
    details: { command: 'backup', arguments: [path], bodies },
    after: { size, verified },
  })
}

/** Writes beside a backup that is made: on a disk that is full it is worth more than what is told of it, so it counts. */
async function told(output: Output, what: string, write: () => void | Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    output.error(`The backup was created, but ${what} could not be written: ${fileReason(error)}`)
  }
}

/** What fails on files is told in one line: the message says what to do. */
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
