import { makeBackup, type BackupOptions } from './backup.ts'
import type { Adapters } from './context.ts'
import type { Registrar } from './registrar.ts'
import { restore, type RestoreOptions } from './restore.ts'

const collect = (one: string, before: string[] = []): string[] => [...before, one]

/** Puts `backup` and `restore` into the program. */
export function addBackups({ add, finish }: Registrar, adapters: Adapters): void {
  add('backup', 'write the whole appliance into one file, while it runs')
    .argument('<file>', 'it must not exist')
    .option('--no-bodies', 'without bodies and messages of finished emails')
    .option('--no-verify', 'do not restore it into a scratch directory and check it')
    .option('--no-master-key', 'without the key that its secrets are sealed with: keep that apart')
    .option('--recipient <age1...>', 'encrypt it for this age recipient; may be given again', collect)
    .option('--passphrase-file <file>', 'encrypt it with the passphrase in the first line of this file')
    .action(async (file: string, options: BackupOptions) => finish(await makeBackup(file, options, adapters)))
  add('restore', 'make a data directory out of a backup; what waits in it is held')
    .argument('<file>', 'the backup')
    .option('--data-dir <directory>', 'empty, or not there yet (default: data_dir of the configuration)')
    .option('--identity-file <file>', 'with the age identity that opens an encrypted backup')
    .option('--passphrase-file <file>', 'with the passphrase that opens it, in the first line')
    .action(async (file: string, options: RestoreOptions) => finish(await restore(file, options, adapters)))
}
