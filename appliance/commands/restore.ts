import { resolve } from 'node:path'
import { systemClock } from '../clock/clock.ts'
import { findConfig } from '../config/config.ts'
import { wrapFileErrors, createBackup, type BackupOptions } from './backup.ts'
import type { BackupMetadata } from '../storage/storage.ts'
import { Failure, reportFailure, requireValidConfig, type Adapters, type CommonOptions } from './context.ts'
import { parseDecryptionOptions } from './key-files.ts'
import { getCommandLineActor } from './queue-change.ts'
import { createOutput, formatInstant, wrapParagraph } from './output.ts'
import type { Registrar } from './registrar.ts'

export interface RestoreOptions extends CommonOptions {
  dataDir?: string
  identityFile?: string
  passphraseFile?: string
}

/** `restore`: creates a data directory from a backup. Returns the exit code. */
async function restore(file: string, options: RestoreOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const dataDir = resolve(options.dataDir ?? configuredDirectory(options))
    const { restoreBackup } = await adapters()
    const path = resolve(file)
    const decryption = parseDecryptionOptions(options)
    const restored = await wrapFileErrors(() =>
      restoreBackup({ file: path, dataDir, by: getCommandLineActor(), decryption }, systemClock.now()),
    )
    const { about, held, reports, auditId } = restored
    output.object({
      object: 'restore',
      data_dir: dataDir,
      held,
      reports_given_up: reports,
      audit_id: auditId,
      master_key: about.masterKey ?? null,
      backup: { version: about.version, schema: about.schema, bodies: about.bodies, counts: about.counts },
      backup_made_at: new Date(about.createdAt).toISOString(),
    })
    output.text(
      `Restored ${about.counts.emails} emails into ${dataDir}, as of ${formatInstant(about.createdAt)} UTC.`,
      ...wrapParagraph(holdSentence(held)),
      ...(held === 0
        ? []
        : [
            '',
            '  posthaste queue list --state held    list it',
            '  posthaste queue release              send it',
            '  posthaste queue drop --state held    drop it',
            '',
          ]),
      ...(reports === 0
        ? []
        : wrapParagraph(
            `${reports} bounce reports to senders were due. They are not sent, because they may have been sent after the backup.`,
          )),
      ...wrapParagraph(
        'Everyone has to sign in again. Keys, members, passwords and second steps that were removed or changed since the backup are back.',
      ),
      ...keyLines(about, dataDir),
      'The configuration file from the backup, if there was one, is in restored-config/.',
    )
    return 0
  })
}

/** Lists the keys that are still missing for a start. */
function keyLines({ masterKey }: BackupMetadata, dataDir: string): string[] {
  if (!masterKey || masterKey.included) return []
  return wrapParagraph(
    `Its secrets are encrypted with the master key ${masterKey.id}, which is not in the backup. The server needs it to start: put it into ${dataDir}/master.key, or where the configuration says.`,
  )
}

const holdSentence = (held: number): string =>
  held === 0
    ? 'No deliveries were queued.'
    : `${held === 1 ? '1 delivery is' : `${held} deliveries are`} on hold, because they may have been sent after the backup. New mail is sent as usual.`

function configuredDirectory({ config: file }: CommonOptions): string {
  const { sandbox, loaded } = findConfig({ file, env: process.env })
  if (sandbox)
    throw new Failure('There is no configuration file. Set the directory: --data-dir /var/lib/posthaste')
  const { config } = requireValidConfig(loaded)
  if (config.storage.engine === 'postgres')
    throw new Failure(
      'storage.engine is "postgres": restore its database with pg_restore (docs/postgresql.md). To restore a backup of a SQLite database, set the directory with --data-dir.',
    )
  return config.data_dir
}

const collect = (one: string, before: string[] = []): string[] => [...before, one]

/** Registers `backup` and `restore`. */
export function registerBackupCommands({ add, finish }: Registrar, adapters: Adapters): void {
  add('backup', 'Back up the whole server to one file, while it runs')
    .argument('<file>', 'Backup file to create; must not exist yet')
    .option('--no-bodies', 'Leave out bodies and messages of finished emails')
    .option('--no-verify', 'Skip the check that restores the backup into a scratch directory')
    .option('--no-master-key', 'Leave out the master key; store it separately')
    .option('--recipient <age1...>', 'Encrypt the backup for this age recipient; repeatable', collect)
    .option(
      '--passphrase-file <file>',
      'Encrypt the backup with the passphrase on the first line of this file',
    )
    .action(async (file: string, options: BackupOptions) =>
      finish(await createBackup(file, options, adapters)),
    )
  add('restore', 'Restore a backup into a data directory; queued deliveries are held')
    .argument('<file>', 'Backup file')
    .option('--data-dir <directory>', 'Empty or new directory (default: data_dir in the configuration)')
    .option('--identity-file <file>', 'File with the age identity that decrypts the backup')
    .option('--passphrase-file <file>', 'File whose first line is the passphrase that decrypts the backup')
    .action(async (file: string, options: RestoreOptions) => finish(await restore(file, options, adapters)))
}
