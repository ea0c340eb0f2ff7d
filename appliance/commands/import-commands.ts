/** The command that moves a team here from the hosted service. */
import { InvalidArgumentError, Option } from 'commander'
import { KINDS, type Kind } from '../moving/moving.ts'
import type { Permission } from '../storage/storage.ts'
import { importFrom } from './import.ts'
import type { Registrar } from './registrar.ts'

/** Puts `import` into the program. */
export function addImport({ addInTeam, does }: Registrar): void {
  addInTeam('import', 'bring domains, suppressions, webhooks and names of keys here from the hosted service')
    .requiredOption('--from <url>', 'address of its API: https://api.example.com')
    .requiredOption('--key-file <file>', 'with one of its keys of full access, or - for standard input')
    .option('--only <kinds>', `some of ${KINDS.join(',')} (default: all)`, parseKinds)
    .option('--dry-run', 'only tell what would happen')
    .option('--return-path <label>', 'of all domains here (default: the one that each has there)')
    .addOption(
      new Option(
        '--permission <permission>',
        'of keys of which the other side does not tell it (default: sending_access)',
      ).choices(['full_access', 'sending_access'] satisfies Permission[]),
    )
    .option('--enable', 'enable webhooks that are enabled there, also those of an earlier import')
    .option('--secrets <file>', 'append new tokens and signing secrets to it instead of printing them')
    .option('--zone <file>', 'write the DNS records to publish into it instead of printing them')
    .action(does(importFrom))
}

function parseKinds(text: string): Kind[] {
  const words = text.split(',').map((word) => word.trim())
  const kinds = KINDS.filter((kind) => words.includes(kind))
  if (words.some((word) => !KINDS.some((kind) => kind === word)))
    throw new InvalidArgumentError(`Some of ${KINDS.join(', ')}, with commas between.`)
  return kinds
}
