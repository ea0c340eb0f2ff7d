/** Parses CSV lists of suppressed addresses, exported here or by other services. Pure. */
import { parseMailbox } from '../mail/address.ts'
import { parseCell, readCsv, type CsvRecord } from '../mail/csv.ts'
import { isId } from '../mail/ids.ts'
import type { NewSuppression } from '../storage/storage.ts'
import { SUPPRESSION_ORIGINS, type SuppressionOrigin } from '../mail/verdict.ts'

/** The content of a line. */
export type ListedAddress = Pick<
  NewSuppression,
  'email' | 'origin' | 'sourceId' | 'reason' | 'reply' | 'createdAt'
>

/** A parsed line of a list. */
export type ParsedLine =
  | { kind: 'listed'; line: number; listed: ListedAddress }
  | { kind: 'invalid'; line: number; text: string; expected: string }

/** A parsed list. */
export interface AddressList {
  /** Names of ignored columns. */
  ignored: string[]
  lines: Iterable<ParsedLine>
}

/** Known names of each column: ours first, then those of well-known services. */
const COLUMNS = {
  email: ['email', 'email_address', 'address', 'recipient', 'e-mail', 'emailaddress'],
  origin: ['origin'],
  created_at: ['created_at', 'created', 'lastupdatetime'],
  source_id: ['source_id'],
  reason: ['reason'],
  reply: ['reply'],
} as const
type Column = keyof typeof COLUMNS
type Positions = Partial<Record<Column, number>>

/** Maximum length of untrusted text to store and show (UTF-16 units). */
const MOST_TEXT = 500
const MOST_SHOWN = 100

/**
 * Parses a list. A header line must have a column `email`; without a header, addresses are in the first column.
 * @param defaults for lines that don't set these fields themselves
 * @param now suppression times after this are invalid
 */
export function parseAddressList(
  csv: string,
  defaults: { origin: SuppressionOrigin },
  now: number,
): AddressList {
  const [first] = readCsv(csv)
  const names = (first?.cells ?? []).map((cell) => parseCell(cell).toLowerCase())
  const positions = positionsOf(names)
  const headed = positions.email !== undefined
  const used: Positions = headed ? positions : { email: 0 }
  const taken = Object.values(used)
  return {
    ignored: headed ? names.filter((name, at) => name !== '' && !taken.includes(at)) : [],
    lines: {
      *[Symbol.iterator]() {
        for (const record of readCsv(csv))
          if (!headed || record.line !== first!.line) yield lineOf(record, used, defaults, now)
      },
    },
  }
}

function positionsOf(names: string[]): Positions {
  const found = Object.entries(COLUMNS).map(([column, known]) => [
    column,
    names.findIndex((name) => (known as readonly string[]).includes(name)),
  ])
  return Object.fromEntries(found.filter(([, at]) => at !== -1)) as Positions
}

function lineOf(
  { line, cells, closed }: CsvRecord,
  positions: Positions,
  defaults: { origin: SuppressionOrigin },
  now: number,
): ParsedLine {
  const cell = (column: Column): string => {
    const at = positions[column]
    return at === undefined ? '' : parseCell(cells[at] ?? '').slice(0, MOST_TEXT)
  }
  const invalid = (text: string, expected: string): ParsedLine => ({
    kind: 'invalid',
    line,
    text: text.slice(0, MOST_SHOWN),
    expected,
  })
  if (!closed) return invalid(cells[0]!, 'a closing quotation mark for the one opened in this line')
  const email = parseMailbox(cell('email'))?.address
  if (email === undefined) return invalid(cell('email'), 'an email address')
  const given = cell('origin').toLowerCase()
  const origin = given === '' ? defaults.origin : SUPPRESSION_ORIGINS.find((one) => one === given)
  if (!origin) return invalid(given, `an origin: ${SUPPRESSION_ORIGINS.join(', ')}`)
  const createdAt = cell('created_at') === '' ? now : instantOf(cell('created_at'))
  if (createdAt === undefined || createdAt > now)
    return invalid(cell('created_at'), 'a past time in ISO 8601, such as 2026-11-20T08:15:00Z')
  const source = cell('source_id').toLowerCase()
  return {
    kind: 'listed',
    line,
    listed: {
      email,
      origin,
      createdAt,
      sourceId: isId(source) ? source : null,
      reason: cell('reason') || null,
      reply: cell('reply') || null,
    },
  }
}

/** Parses ISO 8601 with a time zone, or the API's format: `2026-11-20 08:15:00.25+00`. */
function instantOf(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d(?::?\d\d)?)$/i.exec(text)
  if (!match) return undefined
  const [, date, time, zone] = match
  const offset = /^[+-]\d\d$/.test(zone!) ? `${zone!}:00` : zone!.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')
  const instant = Date.parse(`${date!}T${time!}${offset.toUpperCase()}`)
  return Number.isNaN(instant) ? undefined : instant
}
