import { Type, type Static } from 'typebox'
import {
  array,
  arrayOfObjects,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import type { Suppression as StoredSuppression } from '../storage/storage.ts'
import type { SuppressionImport as StoredSuppressionImport } from '../senders/senders.ts'
import { isoTimestamp, timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { refuse } from '../mail/refusals.ts'
import { choice, optional, page, path, pathText, query } from './parameters.ts'
import { SUPPRESSION_ORIGINS } from '../mail/verdict.ts'

const reference = { object: kind('suppression'), id: Id }

export const CreateSuppression = object('An address to suppress.', {
  email: string('The address.', { examples: ['steve@example.com'] }),
})
export const SuppressionRef = object('The suppression.', reference)

const summary = {
  id: Id,
  email: string('The suppressed address.'),
  origin: literals(
    ['bounce', 'complaint', 'manual'],
    'bounce: a hard bounce · complaint: a spam report · manual: added by a user.',
  ),
  source_id: Nullable(Type.String(), 'The email that bounced or was reported; null: none.'),
  reason: Nullable(Type.String(), 'The reason, as a sentence; null: none given.'),
  reply: Nullable(Type.String(), 'The SMTP reply; null: none.'),
  removed_at: Nullable(
    Timestamp,
    'When the address was last removed from the list before it was added again; null: never.',
  ),
  created_at: Timestamp,
}
/** An element of GET /suppressions, and with `object` GET /suppressions/:id. */
export const Suppression = object('A suppressed address.', { object: kind('suppression'), ...summary })
export type Suppression = Static<typeof Suppression>
export const SuppressionList = listOf(Suppression, 'suppressions')

/** POST /suppressions/import. Not part of the hosted API. */
export const ImportSuppressions = object('Addresses to suppress.', {
  csv: string(
    'The list as CSV, at most 100,000 lines. Either with a header row (`email`, and optionally `origin`, `created_at`, `source_id`, `reason`, `reply`) or with the address in the first column.',
    { examples: ['email,origin\nsteve@example.com,bounce\n'] },
  ),
  origin: Type.Optional(
    literals(['bounce', 'complaint', 'manual'], 'Origin of lines without one. Default: manual.'),
  ),
  preview: Type.Optional(boolean('Only report what would be imported. Default: false.')),
})
export const SuppressionImport = object('The result of the import or preview.', {
  object: kind('suppression_import'),
  preview: boolean('True: nothing was changed.'),
  lines: integer('Number of lines read, without empty lines and the header row.'),
  added: integer('Number of addresses that were added, or would be added.'),
  present: integer('Number of addresses that are already on the list, or repeated in the file.'),
  invalid: integer('Number of invalid lines. They are skipped.'),
  examples: arrayOfObjects('The first 100 invalid lines.', {
    line: integer('Line number.'),
    text: string('Content of the line.'),
    expected: string('What was expected.'),
  }),
  first: array(Type.String(), 'The first 10 added addresses.'),
  ignored_columns: array(Type.String(), 'Ignored columns.'),
})
export type SuppressionImport = Static<typeof SuppressionImport>

export const SuppressionDeleted = object('The removed suppression. The address can receive mail again.', {
  ...reference,
  deleted: Deleted,
})

/** POST /suppressions/batch/add: 1 to 100 addresses. */
export const AddSuppressions = object('Addresses to suppress.', {
  emails: array(Type.String(), '1 to 100 addresses.'),
})
export const SuppressionsAdded = listOf(
  SuppressionRef,
  'suppressions, always the only one',
  'One for each address, in the order of the request.',
)
/** POST /suppressions/batch/remove: 1 to 100 addresses or ids, not both. */
export const RemoveSuppressions = object('Suppressions to remove.', {
  emails: optionalOrNull(Type.Array(Type.String()), '1 to 100 addresses, or `ids` instead.'),
  ids: optionalOrNull(Type.Array(Type.String()), '1 to 100 suppression ids, or `emails` instead.'),
})
export const SuppressionsRemoved = listOf(
  SuppressionDeleted,
  'removed suppressions, always the only one',
  'The suppressions that were found and removed.',
)

/** Maximum number of characters of a search text. */
const MAX_SEARCH = 254

const filter = {
  origin: choice(SUPPRESSION_ORIGINS, 'Only suppressions with this origin.'),
  search: optional(
    string('Only addresses that contain this text.', { maxLength: MAX_SEARCH, examples: ['@example.com'] }),
    (given, parameter) => {
      if (given === '' || given.length > MAX_SEARCH)
        throw refuse('invalid_parameter', {
          parameter,
          expected: `a single string of at most ${MAX_SEARCH} characters`,
        })
      if (given.includes('\0'))
        throw refuse('invalid_parameter', { parameter, expected: 'text without NUL characters' })
      return given
    },
  ),
}

const params = path({ id: pathText("The suppression's id or its address.") })
const operation = operationsIn('Suppressions')

export const createSuppression = operation('POST /suppressions', {
  summary: 'Suppress an address',
  description: 'If the address is already suppressed, returns the existing suppression.',
  body: CreateSuppression,
  response: { 201: SuppressionRef },
})
export const listSuppressions = operation('GET /suppressions', {
  summary: 'List suppressions',
  querystring: query({ ...page, ...filter }),
  response: { 200: SuppressionList },
})
export const exportSuppressions = operation('GET /suppressions/export', {
  summary: 'Export suppressions',
  description:
    'The whole list, newest first, in the format of `POST /suppressions/import`. Not part of the hosted API.',
  querystring: query(filter),
  response: { 200: nonJsonContent('text/csv', 'The list, with a header row.') },
})
export const importSuppressions = operation('POST /suppressions/import', {
  summary: 'Import suppressions',
  description:
    'Invalid lines are skipped and reported. An address that is already suppressed keeps its suppression. Not part of the hosted API.',
  body: ImportSuppressions,
  response: { 200: SuppressionImport },
})
export const getSuppression = operation('GET /suppressions/:id', {
  summary: 'Get a suppression',
  params,
  response: { 200: Suppression },
})
export const deleteSuppression = operation('DELETE /suppressions/:id', {
  summary: 'Remove a suppression',
  params,
  response: { 200: SuppressionDeleted },
})
export const addSuppressions = operation('POST /suppressions/batch/add', {
  summary: 'Suppress up to 100 addresses',
  body: AddSuppressions,
  response: { 201: SuppressionsAdded },
})
export const removeSuppressions = operation('POST /suppressions/batch/remove', {
  summary: 'Remove up to 100 suppressions',
  description:
    'By `emails` or by `ids`, not both. The response leaves out addresses that are not suppressed.',
  body: RemoveSuppressions,
  response: { 200: SuppressionsRemoved },
})

/** Formats the response of GET /suppressions/:id and an element of the list. */
export function presentSuppression(suppression: StoredSuppression): Suppression {
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

/** Formats the response to POST /suppressions/import. */
export function presentSuppressionImport(
  result: StoredSuppressionImport,
  preview: boolean,
): SuppressionImport {
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

/** The header row of an export, which POST /suppressions/import accepts. */
export const SUPPRESSION_CSV_HEADER = formatCsvRecord([
  'email',
  'origin',
  'created_at',
  'source_id',
  'reason',
  'reply',
])

/** Formats an entry as a CSV row. */
export function formatSuppressionRow(one: StoredSuppression): string {
  const since = isoTimestamp(one.createdAt)
  return formatCsvRecord([
    one.email,
    one.origin,
    since,
    one.sourceId ?? '',
    one.reason ?? '',
    one.reply ?? '',
  ])
}
