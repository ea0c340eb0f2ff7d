import { makeBackup, type BackupOptions } from './backup.ts'
import type { Adapters } from './context.ts'
import type { Registrar } from './registrar.ts'
import { restore, type RestoreOptions } from './restore.ts'

const collect = (one: string, before: string[] = []): string[] => [...before, one]

/** Puts `backup` and `restore` into the program. */
export function addBackups({ add, finish }: Registrar, adapters: Adapters): void {
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
    .action(async (file: string, options: BackupOptions) => finish(await makeBackup(file, options, adapters)))
  add('restore', 'Restore a backup into a data directory; queued deliveries are held')
    .argument('<file>', 'Backup file')
    .option('--data-dir <directory>', 'Empty or new directory (default: data_dir in the configuration)')
    .option('--identity-file <file>', 'File with the age identity that decrypts the backup')
    .option('--passphrase-file <file>', 'File whose first line is the passphrase that decrypts the backup')
    .action(async (file: string, options: RestoreOptions) => finish(await restore(file, options, adapters)))
}
