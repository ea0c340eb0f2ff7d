/** Maps the columns of a CSV file to contact fields, as specified or as guessed. Pure. */
import { RESERVED_KEYS } from '../mail/audience.ts'
import { parseMailbox } from '../mail/address.ts'
import type { ColumnMap, ColumnType, ImportField, Service } from '../mail/contact-import.ts'
import { refuse } from '../mail/refusals.ts'

/** The guess for a column; `field` is null if the column isn't imported. */
export interface GuessedColumn {
  name: string
  field: ImportField | null
  key: string | null
  type: ColumnType | null
}

export interface ColumnGuesses {
  service: Service | null
  columns: GuessedColumn[]
  map: ColumnMap
}

/** The default columns, those of the hosted service. */
export const DEFAULT_COLUMN_MAP: ColumnMap = {
  email: 'email',
  firstName: 'first_name',
  lastName: 'last_name',
  unsubscribed: 'unsubscribed',
  properties: [],
}

/** Column names in other programs and languages, without case, spaces and marks. */
const NAMES: Record<Exclude<ImportField, 'property'>, string[]> = {
  email: [
    'email',
    'emailaddress',
    'mail',
    'address',
    'emailadresse',
    'adresseemail',
    'correo',
    'correoelectronico',
  ],
  first_name: ['firstname', 'fname', 'givenname', 'vorname', 'prenom', 'nombre', 'name', 'fullname'],
  last_name: ['lastname', 'lname', 'surname', 'familyname', 'nachname', 'nom', 'apellido', 'apellidos'],
  unsubscribed: ['unsubscribed', 'unsubtime', 'optedout', 'optout', 'abgemeldet', 'status'],
}

/** Columns that identify exports of other services, and columns that hold no personal data. */
const EXPORTS: Record<Service, { has: string[]; ignored: string[] }> = {
  mailchimp: {
    has: ['emailaddress', 'memberrating', 'leid', 'euid'],
    ignored: [
      'memberrating',
      'optintime',
      'optinip',
      'confirmtime',
      'confirmip',
      'latitude',
      'longitude',
      'gmtoff',
      'dstoff',
      'timezone',
      'cc',
      'region',
      'lastchanged',
      'leid',
      'euid',
      'notes',
      'cleantime',
      'cleancampaigntitle',
      'cleancampaignid',
      'unsubcampaigntitle',
      'unsubcampaignid',
      'unsubreason',
      'unsubreasonother',
    ],
  },
  listmonk: {
    has: ['uuid', 'email', 'name', 'attributes', 'status'],
    ignored: ['uuid', 'attributes', 'createdat', 'updatedat', 'id', 'lists'],
  },
  hosted: {
    has: ['id', 'email', 'firstname', 'lastname', 'unsubscribed', 'createdat'],
    ignored: ['id', 'createdat', 'updatedat', 'segments', 'topics', 'audienceid'],
  },
}

const plain = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')

/** Guesses the columns by name. If no name suggests an address, looks at the values. */
export function guessColumns(names: readonly string[], rows: readonly (readonly string[])[]): ColumnGuesses {
  const plainNames = names.map(plain)
  const service = serviceOf(plainNames)
  const ignored = new Set(service ? EXPORTS[service].ignored : [])
  const places = new Map<number, ImportField>()
  for (const [field, known] of Object.entries(NAMES) as [keyof typeof NAMES, string[]][]) {
    const at = known
      .map((name) => plainNames.indexOf(name))
      .find((found) => found !== -1 && !places.has(found))
    if (
      at !== undefined &&
      (field !== 'unsubscribed' || plainNames[at] !== 'status' || service === 'listmonk')
    )
      places.set(at, field)
  }
  if (![...places.values()].includes('email')) {
    const at = names.findIndex((_, column) => mostly(rows, column, isAddress))
    if (at !== -1) places.set(at, 'email')
  }
  const taken = new Set<string>()
  const columns = names.map((name, at): GuessedColumn => {
    const field = places.get(at)
    if (field) return { name, field, key: null, type: null }
    const key = keyOf(name)
    const useful =
      key !== null && !ignored.has(plainNames[at]!) && !taken.has(key) && names.indexOf(name) === at
    if (!useful) return { name, field: null, key: null, type: null }
    taken.add(key)
    return { name, field: 'property', key, type: typeOf(rows, at) }
  })
  return { service, columns, map: mapOf(columns) }
}

const serviceOf = (names: readonly string[]): Service | null =>
  (Object.keys(EXPORTS) as Service[]).find((service) =>
    EXPORTS[service].has.every((name) => names.includes(name)),
  ) ?? null

const mostly = (
  rows: readonly (readonly string[])[],
  column: number,
  fits: (cell: string) => boolean,
): boolean => {
  const cells = rows.map((row) => row[column]?.trim() ?? '').filter((cell) => cell !== '')
  return cells.length > 0 && cells.filter(fits).length * 2 > cells.length
}

const isAddress = (cell: string): boolean => parseMailbox(cell)?.name === ''

const isNumber = (cell: string): boolean => /^-?(0|[1-9]\d{0,14})(\.\d+)?$/.test(cell)

const typeOf = (rows: readonly (readonly string[])[], column: number): ColumnType => {
  const cells = rows.map((row) => row[column]?.trim() ?? '').filter((cell) => cell !== '')
  return cells.length > 0 && cells.every(isNumber) ? 'number' : 'string'
}

/** Maximum length of a property key, in characters. */
const MAX_KEY = 50

/** Derives a property key from a column name; null if impossible. */
function keyOf(name: string): string | null {
  const key = name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, MAX_KEY)
  return key === '' || (RESERVED_KEYS as readonly string[]).includes(key) ? null : key
}

function mapOf(columns: readonly GuessedColumn[]): ColumnMap {
  const named = (field: ImportField) => columns.find((column) => column.field === field)?.name ?? null
  return {
    email: named('email') ?? '',
    firstName: named('first_name'),
    lastName: named('last_name'),
    unsubscribed: named('unsubscribed'),
    properties: columns.flatMap(({ name, key, type }) =>
      key === null || type === null ? [] : [{ key, column: name, type }],
    ),
  }
}

/** Column indexes, from 0; null if there is no such column. */
export interface ColumnIndexes {
  email: number
  firstName: number | null
  lastName: number | null
  unsubscribed: number | null
  properties: { key: string; at: number; type: ColumnType }[]
}

/**
 * Finds the mapped columns in a file. In the default map, all but the address are optional. Refuses:
 * `import_no_email_column`, `invalid_field`.
 */
export function findColumns(names: readonly string[], map: ColumnMap): ColumnIndexes {
  const find = (field: string, column: string | null): number | null => {
    if (column === null) return null
    const at = names.indexOf(column.trim())
    if (at === -1 && map !== DEFAULT_COLUMN_MAP)
      throw refuse('invalid_field', {
        field: `column_map.${field}`,
        expected: 'the name of a column of the file',
      })
    return at === -1 ? null : at
  }
  const email = names.indexOf(map.email.trim())
  if (map.email.trim() === '' || email === -1) throw refuse('import_no_email_column')
  return {
    email,
    firstName: find('first_name', map.firstName),
    lastName: find('last_name', map.lastName),
    unsubscribed: find('unsubscribed', map.unsubscribed),
    properties: map.properties.map(({ key, column, type }) => ({
      key,
      type,
      at: find(`properties.${key.slice(0, MAX_KEY).toWellFormed()}`, column)!,
    })),
  }
}
