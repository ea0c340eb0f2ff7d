/** The command that moves a team here from the hosted service. */
import { InvalidArgumentError, Option } from 'commander'
import { EXPORTERS, OBJECT_KINDS, type ObjectKind } from '../moving/moving.ts'
import type { Permission } from '../storage/storage.ts'
import { runImport } from './import.ts'
import type { Registrar } from './registrar.ts'

/** Registers `import`. */
export function registerImportCommand({ addInTeam, does }: Registrar): void {
  addInTeam('import', 'Import the data of a team from the hosted service, or from files of another service')
    .requiredOption(
      '--from <source>',
      `URL of its API, such as https://api.example.com, or the service that exported the files: ${EXPORTERS.join(', ')}`,
    )
    .option('--key-file <file>', 'File with one of its full-access API keys, or - for standard input')
    .option('--files <file...>', 'Exported files')
    .option(
      '--only <kinds>',
      `Kinds, separated by commas: ${OBJECT_KINDS.join(', ')} (default: all)`,
      parseKinds,
    )
    .option('--dry-run', 'Show what would be imported, without changing anything')
    .option(
      '--return-path <label>',
      'Return path label of all imported domains (default: keep the label of each)',
    )
    .addOption(
      new Option(
        '--permission <permission>',
        'Permission of keys for which the hosted API does not report it (default: sending_access)',
      ).choices(['full_access', 'sending_access'] satisfies Permission[]),
    )
    .option(
      '--enable',
      'Enable webhooks that are enabled in the hosted service, including previously imported ones',
    )
    .option(
      '--overwrite',
      'Replace existing objects with those of the hosted service; opt-outs stay (default: leave it unchanged)',
    )
    .option('--secrets <file>', 'Append new tokens and signing secrets to this file instead of printing them')
    .option('--zone <file>', 'Write the DNS records to publish to this file instead of printing them')
    .action(does(runImport))
}

function parseKinds(text: string): ObjectKind[] {
  const words = text.split(',').map((word) => word.trim())
  const kinds = OBJECT_KINDS.filter((kind) => words.includes(kind))
  if (words.some((word) => !OBJECT_KINDS.some((kind) => kind === word)))
    throw new InvalidArgumentError(`Use a comma-separated list of: ${OBJECT_KINDS.join(', ')}.`)
  return kinds
}
