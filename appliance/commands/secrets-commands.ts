import type { Adapters } from './context.ts'
import type { Registrar } from './registrar.ts'
import { rekeySecrets, showSecrets, type RekeyOptions } from './secrets.ts'

/** Puts `secrets` into the program: the master key that stored secrets are sealed with. */
export function addSecrets({ group, add, finish }: Registrar, adapters: Adapters): void {
  const secrets = group('secrets', 'the master key that stored secrets are sealed with')
  add(
    'status',
    'show which key it is, where it comes from, and whether everything is sealed',
    secrets,
  ).action(async (options: RekeyOptions) => finish(await showSecrets(options, adapters)))
  add('rekey', 'seal everything with another key; the daemon must be stopped', secrets)
    .option('--new-key-file <file>', 'with the new key: 32 bytes in base64 (default: one is made)')
    .action(async (options: RekeyOptions) => finish(await rekeySecrets(options, adapters)))
}
