import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import {
  presentSuppression,
  presentSuppressionImport,
  SUPPRESSION_CSV_HEADER,
  formatSuppressionRow,
} from '../api/suppressions.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import { Failure, type Context } from './context.ts'
import { formatInstant, formatTable } from './output.ts'
import type { SuppressionOrigin } from '../mail/verdict.ts'
import { describeFileError } from './failure.ts'

const DEFAULT_LIMIT = 100

/** Runs `suppression list`. */
export async function listSuppressions(
  { senders, output, team }: Context,
  { origin, search, limit = DEFAULT_LIMIT }: { origin?: SuppressionOrigin; search?: string; limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await senders.listSuppressions({ teamId, limit, origin, search })
  output.object(presentList(items.map(presentSuppression), hasMore))
  if (items.length === 0) return output.text('No addresses are suppressed.')
  const rows = items.map((one) => [formatInstant(one.createdAt), one.origin, one.email])
  output.text(...formatTable(['SINCE', 'ORIGIN', 'ADDRESS'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Add --limit to see more.`)
}

/** `suppression add`: an existing entry stays as it is. */
export async function addSuppression({ senders, output, team }: Context, email: string): Promise<void> {
  const { id: teamId } = await team()
  const [added] = await senders.suppress({ teamId, emails: [email], field: 'email' })
  output.object(presentSuppression(added!))
  output.text(`Suppressed ${added!.email} (${added!.origin}).`)
}

/** `suppression remove`: by address or id. */
export async function removeSuppression(
  { senders, output, team }: Context,
  idOrEmail: string,
): Promise<void> {
  const { id: teamId } = await team()
  const { id, email } = await senders.unsuppress({ teamId, idOrEmail })
  output.object(presentDeleted('suppression', id))
  output.text(`Removed ${email} from the suppression list.`)
}

/** `suppression export`: writes the list as CSV, newest first, to standard output. */
export async function exportSuppressions(
  { senders, output, team }: Context,
  { origin }: { origin?: SuppressionOrigin },
): Promise<void> {
  const { id: teamId } = await team()
  const objects: ReturnType<typeof presentSuppression>[] = []
  output.text(SUPPRESSION_CSV_HEADER.trimEnd())
  for await (const page of senders.allSuppressions({ teamId, origin })) {
    output.text(page.map(formatSuppressionRow).join('').trimEnd())
    objects.push(...page.map(presentSuppression))
  }
  output.object(presentList(objects))
}

/** `suppression import`: reads CSV from a file or standard input (`-`). */
export async function importSuppressions(
  { senders, output, team }: Context,
  [file]: string[],
  { origin = 'manual', preview = false }: { origin?: SuppressionOrigin; preview?: boolean },
): Promise<void> {
  const { id: teamId } = await team()
  const csv = file === '-' ? await readAll(process.stdin) : await readList(file!)
  const result = await senders.importSuppressions({ teamId, csv, origin, preview })
  output.object(presentSuppressionImport(result, preview))
  const { added, present, invalid, examples, ignoredColumns } = result
  for (const { line, text, expected } of examples)
    output.error(`line ${line}: "${text}" is not ${expected}; skipped`)
  if (invalid > examples.length) output.error(`and ${invalid - examples.length} more invalid lines`)
  if (ignoredColumns.length > 0) output.error(`ignored columns: ${ignoredColumns.join(', ')}`)
  output.text(`${preview ? 'To add' : 'Added'}: ${added} · already present: ${present} · skipped: ${invalid}`)
}

async function readList(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    // The file belongs to the user, so report the system's error.
    throw new Failure(`Cannot read the list: ${describeFileError(error)}`)
  }
}
