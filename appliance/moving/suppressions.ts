import { formatCsvRecord } from '../mail/csv.ts'
import type { HostedObject } from './hosted.ts'
import { toIso, stringOrNull } from './objects.ts'
import { countSkipped, type MoveDeps, type MoveCount } from './report.ts'
import { SUPPRESSION_ORIGINS } from '../mail/verdict.ts'

/** Number of entries added at a time. */
const PIECE = 500
const COLUMNS = formatCsvRecord(['email', 'origin', 'created_at', 'source_id', 'reason'])

/**
 * Adds the hosted service's suppressions with their origin, causing email and time. Uses the CSV import and its rules,
 * so existing entries are left unchanged.
 */
export async function moveSuppressions(deps: MoveDeps, count: MoveCount): Promise<void> {
  let piece: HostedObject[] = []
  for await (const one of deps.hosted.list('/suppressions')) {
    count.there += 1
    if (stringOrNull(one.email) === null)
      countSkipped(count, 'a suppression', 'the hosted API returned no address')
    else piece.push(one)
    if (piece.length < PIECE) continue
    await keep(piece, deps, count)
    piece = []
  }
  await keep(piece, deps, count)
}

async function keep(piece: readonly HostedObject[], deps: MoveDeps, count: MoveCount): Promise<void> {
  if (piece.length === 0) return
  const { senders, teamId, options, made, hosted, now } = deps
  const reason = `Imported from ${hosted.base}`
  const csv = COLUMNS + piece.map((one) => lineOf(one, reason, now())).join('')
  const result = await senders.importSuppressions({ teamId, csv, origin: 'manual', preview: options.dryRun })
  count.added += result.added
  count.present += result.present
  for (const { text, expected } of result.examples) countSkipped(count, text, `it is not ${expected}`)
  count.leftOut += result.invalid - result.examples.length
  if (result.added > 0 && !options.dryRun) await made({ kind: 'suppressions', added: result.added })
}

/**
 * Formats an entry as a CSV line. Leaves invalid origins and times empty, because a bounced address must not get lost
 * because of a detail.
 */
function lineOf(one: HostedObject, reason: string, now: number): string {
  const since = toIso(one.created_at)
  return formatCsvRecord([
    stringOrNull(one.email) ?? '',
    SUPPRESSION_ORIGINS.find((origin) => origin === one.origin) ?? '',
    since !== undefined && Date.parse(since) <= now ? since : '',
    stringOrNull(one.source_id) ?? '',
    reason,
  ])
}
