import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { MAX_TEXT_LENGTH } from '../mail/json-body.ts'
import { refuse } from '../mail/refusals.ts'
import { toSuppressionKey } from '../mail/suppression.ts'
import type { NewSuppression, Storage } from '../storage/storage.ts'
import { parseAddressList, type ListedAddress, type ParsedLine } from './suppression-csv.ts'
import type { SuppressionOrigin } from '../mail/verdict.ts'

export interface ImportArgs {
  teamId: string
  csv: string
  /** Origin of the entries whose line doesn't name one. */
  origin: SuppressionOrigin
  /** Whether to only report what would happen. */
  preview: boolean
}

/** The result of an import, or of its preview. */
export interface SuppressionImport {
  /** Number of lines, excluding empty ones and the header. */
  lines: number
  added: number
  /** Number of addresses already on the suppression list, or repeated in the imported list. */
  present: number
  invalid: number
  /** The first invalid lines: their number, and what was expected. */
  examples: { line: number; text: string; expected: string }[]
  /** The first added addresses. */
  first: string[]
  /** Names of ignored columns. */
  ignoredColumns: string[]
}

/** Number of lines to process before yielding to the event loop; takes a few milliseconds. */
const BREATH = 500
/** Maximum number of lines in a list. */
const MOST_LINES = 100_000
/** Number of entries per transaction, which delays the next email. */
const PIECE = 500
/** Maximum number of invalid lines shown in a response. */
const EXAMPLES = 100
/** Maximum number of addresses shown in a response. */
const FIRST = 10

/** See `SuppressionMethods.importSuppressions`. */
export async function importSuppressionList(
  args: ImportArgs,
  storage: Pick<Storage, 'findSuppressed' | 'addSuppressions'>,
  clock: Clock,
): Promise<SuppressionImport> {
  if (args.csv.length > MAX_TEXT_LENGTH)
    throw refuse('invalid_field', {
      field: 'csv',
      expected: `at most ${MAX_TEXT_LENGTH} characters; split the file`,
    })
  if (args.csv.split('\n', MOST_LINES + 2).length > MOST_LINES + 1)
    throw refuse('invalid_field', { field: 'csv', expected: `at most ${MOST_LINES} lines; split the file` })
  const list = parseAddressList(args.csv, args, clock.now())
  const result: SuppressionImport = {
    lines: 0,
    added: 0,
    present: 0,
    invalid: 0,
    examples: [],
    first: [],
    ignoredColumns: list.ignored,
  }
  const seen = new Set<string>()
  let piece: ListedAddress[] = []
  for (const line of list.lines) {
    // Yield here, because lines without a new address never wait for storage.
    if (result.lines % BREATH === 0) await setImmediate()
    const listed = sort(line, seen, result)
    if (listed) piece.push(listed)
    if (piece.length < PIECE) continue
    await keep(piece, args, result, storage, clock.now())
    piece = []
  }
  await keep(piece, args, result, storage, clock.now())
  return result
}

/** Counts a line; returns its entry if it is valid and not a duplicate. */
function sort(line: ParsedLine, seen: Set<string>, result: SuppressionImport): ListedAddress | undefined {
  result.lines += 1
  if (line.kind === 'invalid') {
    const { kind: _, ...example } = line
    result.invalid += 1
    if (result.examples.length < EXAMPLES) result.examples.push(example)
    return undefined
  }
  const key = toSuppressionKey(line.listed.email)
  if (seen.has(key)) {
    result.present += 1
    return undefined
  }
  seen.add(key)
  return line.listed
}

/** Adds the entries that aren't on the list yet. */
async function keep(
  piece: ListedAddress[],
  { teamId, preview }: ImportArgs,
  result: SuppressionImport,
  storage: Pick<Storage, 'findSuppressed' | 'addSuppressions'>,
  now: number,
): Promise<void> {
  const addresses = piece.map(({ email }) => email)
  const found = await storage.findSuppressed({ teamId, addresses }, now)
  const known = new Set(found.map(({ address }) => address))
  const suppressions = piece
    .filter(({ email }) => !known.has(email))
    .map((one): NewSuppression => ({ id: newId(now), teamId, ...one }))
  // No webhook events: a list of 100,000 would cause as many requests to every endpoint, with nothing new for its
  // owner.
  const stored = preview
    ? suppressions
    : await storage.addSuppressions({ teamId, suppressions, quiet: true }, now)
  // Entries that someone else added at the same time are returned with other ids.
  const added = suppressions.filter(({ id }, at) => stored[at]!.id === id)
  result.added += added.length
  result.present += piece.length - added.length
  result.first.push(...added.slice(0, FIRST - result.first.length).map(({ email }) => email))
}
