/** The commands about sent emails. */
import { parseId } from './values.ts'
import type { Registrar } from './registrar.ts'
import { Argument } from 'commander'
import { presentEmailRecord } from '../api/email-record.ts'
import { renderEmailRecordPage } from '../api/email-record-page.ts'
import { readEmailRecord } from '../insights/insights.ts'
import { refuse } from '../mail/refusals.ts'
import type { Context } from './context.ts'

/** Registers `email`. */
export function registerEmailCommands({ group, addInTeam, doesWith }: Registrar): void {
  const emails = group('email', 'View sent emails')
  addInTeam('export', 'Print all that is known about an email, for a support ticket', emails)
    .addArgument(new Argument('<id>', 'ID of the email').argParser(parseId))
    .option('--html', 'Print a page to read, instead of JSON')
    .action(doesWith(exportEmail))
}

/** Runs `email export`: prints all stored data about an email as JSON, or as a page. */
async function exportEmail(
  { storage, clock, output, team }: Context,
  [id = '']: string[],
  { html = false }: { html?: boolean },
): Promise<void> {
  const { id: teamId } = await team()
  const parts = await readEmailRecord(storage, { teamId, id }, clock.now())
  if (!parts) throw refuse('not_found', { resource: 'Email' })
  const record = presentEmailRecord(parts, clock.now())
  output.object(record)
  output.text(html ? renderEmailRecordPage(record) : JSON.stringify(record, null, 2))
}
