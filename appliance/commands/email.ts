/** The commands about sent emails. */
import { presentEmailRecord } from '../api/email-record.ts'
import { emailRecordPage } from '../api/email-record-page.ts'
import { readEmailRecord } from '../insights/insights.ts'
import { refuse } from '../mail/refusals.ts'
import type { Context } from './context.ts'

/** Runs `email export`: prints all that is known about an email as JSON, or as a page. */
export async function exportEmail(
  { storage, clock, output, team }: Context,
  [id = '']: string[],
  { html = false }: { html?: boolean },
): Promise<void> {
  const { id: teamId } = await team()
  const parts = await readEmailRecord(storage, { teamId, id }, clock.now())
  if (!parts) throw refuse('not_found', { resource: 'Email' })
  const record = presentEmailRecord(parts, clock.now())
  output.object(record)
  output.text(html ? emailRecordPage(record) : JSON.stringify(record, null, 2))
}
