import type { Adapters } from './context.ts'
import type { Registrar } from './registrar.ts'
import { rekeySecrets, showSecrets, type RekeyOptions } from './secrets.ts'

/** Puts `secrets` into the program: the master key that stored secrets are sealed with. */
export function addSecrets({ group, add, finish }: Registrar, adapters: Adapters): void {
  const secrets = group('secrets', 'Manage the master key that encrypts stored secrets')
  add('status', 'Show the master key ID, its source, and whether all secrets are encrypted', secrets).action(
    async (options: RekeyOptions) => finish(await showSecrets(options, adapters)),
  )
  add('rekey', 'Encrypt all secrets with a new master key; the server must be stopped', secrets)
    .option('--new-key-file <file>', 'File with the new key: 32 bytes in base64 (default: generate one)')
    .action(async (options: RekeyOptions) => finish(await rekeySecrets(options, adapters)))
}
