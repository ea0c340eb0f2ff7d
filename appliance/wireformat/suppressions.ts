import { csvRecord } from '../mail/csv.ts'
import type * as schema from '../http/schemas/suppressions.ts'
import type { Suppression } from '../storage/storage.ts'
import type { SuppressionImport } from '../senders/senders.ts'
import { timestamp, timestampOrNull } from '../api/timestamp.ts'

/** GET /suppressions/:id, and an element of the list. */
export function presentSuppression(suppression: Suppression): schema.Suppression {
  return {
    object: 'suppression',
    id: suppression.id,
    email: suppression.email,
    origin: suppression.origin,
    source_id: suppression.sourceId,
    reason: suppression.reason,
    reply: suppression.reply,
    removed_at: timestampOrNull(suppression.removedAt),
    created_at: timestamp(suppression.createdAt),
  }
}

/** The answer of POST /suppressions/import. */
export function presentSuppressionImport(
  result: SuppressionImport,
  preview: boolean,
): schema.SuppressionImport {
  return {
    object: 'suppression_import',
    preview,
    lines: result.lines,
    added: result.added,
    present: result.present,
    invalid: result.invalid,
    examples: result.examples,
    first: result.first,
    ignored_columns: result.ignoredColumns,
  }
}

/** The columns of an exported list, which POST /suppressions/import reads. */
export const SUPPRESSION_COLUMNS = csvRecord([
  ...['email', 'origin', 'created_at', 'source_id', 'reason', 'reply'],
])

/** One entry as a line of an exported list. */
export function suppressionRecord(one: Suppression): string {
  const since = new Date(one.createdAt).toISOString()
  return csvRecord([one.email, one.origin, since, one.sourceId ?? '', one.reason ?? '', one.reply ?? ''])
}
