import { csvRecord } from '../mail/csv.ts'
import type { Wire } from './hosted.ts'
import { isoOf, text } from './objects.ts'
import { leaveOut, type MoveDeps, type MoveCount } from './report.ts'
import { SUPPRESSION_ORIGINS } from '../mail/verdict.ts'

/** Number of entries added at a time. */
const PIECE = 500
const COLUMNS = csvRecord(['email', 'origin', 'created_at', 'source_id', 'reason'])

/**
 * Adds the hosted service's suppressions with their origin, causing email and time. Uses the CSV import and its rules,
 * so existing entries stay as they are.
 */
export async function moveSuppressions(deps: MoveDeps, count: MoveCount): Promise<void> {
  let piece: Wire[] = []
  for await (const one of deps.hosted.list('/suppressions')) {
    count.there += 1
    if (text(one.email) === null) leaveOut(count, 'a suppression', 'the hosted API returned no address')
    else piece.push(one)
    if (piece.length < PIECE) continue
    await keep(piece, deps, count)
    piece = []
  }
  await keep(piece, deps, count)
}

async function keep(piece: readonly Wire[], deps: MoveDeps, count: MoveCount): Promise<void> {
  if (piece.length === 0) return
  const { senders, teamId, options, made, hosted, now } = deps
  const reason = `Imported from ${hosted.base}`
  const csv = COLUMNS + piece.map((one) => lineOf(one, reason, now())).join('')
  const result = await senders.importSuppressions({ teamId, csv, origin: 'manual', preview: options.dryRun })
  count.added += result.added
  count.present += result.present
  for (const { text, expected } of result.examples) leaveOut(count, text, `it is not ${expected}`)
  count.leftOut += result.invalid - result.examples.length
  if (result.added > 0 && !options.dryRun) await made({ kind: 'suppressions', added: result.added })
}

/**
 * Formats an entry as a line. Leaves invalid origins and times to the import, because a bounced address must not get
 * lost because of a detail.
 */
function lineOf(one: Wire, reason: string, now: number): string {
  const since = isoOf(one.created_at)
  return csvRecord([
    text(one.email) ?? '',
    SUPPRESSION_ORIGINS.find((origin) => origin === one.origin) ?? '',
    since !== undefined && Date.parse(since) <= now ? since : '',
    text(one.source_id) ?? '',
    reason,
  ])
}
