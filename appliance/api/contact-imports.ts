/** Imports of CSV files. Previews: contact-import-previews.ts. */
import { Type, type Static } from 'typebox'
import { type ImportInput, UNDO_WINDOW_MS } from '../audience/audience.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import type { ContactImport as StoredImport, ImportReject } from '../storage/storage.ts'
import { SUBSCRIPTIONS } from '../mail/audience.ts'
import { COLUMN_TYPES, IMPORT_STATUSES, CONFLICT_ACTIONS } from '../mail/contact-import.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { byId, choice, page, query } from './parameters.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import {
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  optionalOrNull,
  optionalText,
  string,
} from './schemas.ts'
import { Deleted, Id, listOf, Timestamp } from './shared.ts'

const column = (description: string) => optionalText(description)

/** Maps contact fields to columns. */
export const ColumnMap = object('Names of columns, as in the first line of the file.', {
  email: column('Column with the email address.'),
  first_name: column('Column with the first name.'),
  last_name: column('Column with the last name.'),
  unsubscribed: column(
    'Column that says who opted out: `true`, `1`, `yes`, `unsubscribed`, or the time of the opt-out. Other values change nothing.',
  ),
  properties: optionalOrNull(
    Type.Record(
      Type.String(),
      Type.Object({
        column: string('Column with the value.'),
        type: optionalOrNull(
          literals(COLUMN_TYPES),
          'Default: string. A boolean is stored as the string `true` or `false`.',
        ),
      }),
    ),
    'Columns by the key of the contact property. Properties that do not exist are created.',
  ),
})
export type ColumnMap = Static<typeof ColumnMap>

const onConflict = literals(
  CONFLICT_ACTIONS,
  'What happens to contacts that exist already. upsert: change them; skip: leave them as they are.',
)

/** Maximum number of characters of a consent statement. */
const MAX_CONSENT = 500

/** The options of an import. */
const settings = {
  column_map: optionalOrNull(
    ColumnMap,
    'Default: the columns named `email`, `first_name`, `last_name` and `unsubscribed`. Other columns are ignored.',
  ),
  on_conflict: optionalOrNull(onConflict, 'Default: upsert.'),
  segments: optionalOrNull(
    Type.Array(Type.Object({ id: string('Segment id.') }), { maxItems: 1000 }),
    'Segments to add the contacts to.',
  ),
  topics: optionalOrNull(
    Type.Array(
      Type.Object({
        id: string('Topic id.'),
        subscription: literals(SUBSCRIPTIONS, 'opt_in doesn’t lift an opt-out.'),
      }),
      { maxItems: 100 },
    ),
    'Choices for topics. An opt-out stays.',
  ),
  consent: optionalOrNull(
    Type.String({ maxLength: MAX_CONSENT }),
    `How these people agreed to get mail, in at most ${MAX_CONSENT} characters. It is stored with the import, which the consent log names. Not part of the hosted API.`,
  ),
}

/** POST /contacts/imports/:id/summary and /start */
export const ImportSettings = object('What to do with the file.', settings)
export type ImportSettings = Static<typeof ImportSettings>

const json = (description: string) => Type.Optional(string(description))

/** The file in a form. */
export const uploadFields = {
  file: string('A CSV file of up to 200 MB with column names in its first line.', { format: 'binary' }),
}

/** POST /contacts/imports, multipart/form-data */
export const CreateContactImport = object('The file, and what to do with it.', {
  ...uploadFields,
  column_map: json('JSON: which column becomes what, see `ColumnMap`.'),
  on_conflict: Type.Optional(onConflict),
  segments: json('JSON: segments to add the contacts to, such as `[{"id": "…"}]`.'),
  topics: json('JSON: choices for topics, such as `[{"id": "…", "subscription": "opt_in"}]`.'),
  consent: Type.Optional(string('How these people agreed to get mail. Not part of the hosted API.')),
})

const reference = { object: kind('contact_import'), id: Id }
export const ContactImportRef = object('The import.', reference)

export const importCounts = {
  total: integer('Rows so far, without the column names and empty lines.'),
  created: integer('Contacts that were created.'),
  updated: integer('Contacts that existed already and were changed.'),
  skipped: integer(
    'Rows that were left out: contacts that exist already, and all but the last row of an address.',
  ),
  failed: integer('Rows that could not be read. See the rejects.'),
}

/** GET /contacts/imports/:id, and an element of GET /contacts/imports */
export const ContactImport = object('An import.', {
  ...reference,
  status: literals(IMPORT_STATUSES, 'State of the import.'),
  created_at: Timestamp,
  completed_at: Nullable(Timestamp, 'When it completed or failed.'),
  counts: object('Results of the rows.', importCounts),
  unsubscribed_kept: integer('Contacts that had opted out before, and still are.'),
  duplicates: integer('Rows whose address also appears earlier in the file. The last row wins.'),
  file_name: string('Name of the file.'),
  file_bytes: integer('Size of the file in UTF-8, in bytes.'),
  processed_bytes: integer('How much of the file was processed, in bytes.'),
  file_sha256: string('SHA-256 of the uploaded file in hex.'),
  on_conflict: onConflict,
  rejects: integer('Rows in `GET /contacts/imports/:id/rejects.csv`. The first 10,000 are kept, for 7 days.'),
  error: Nullable(Type.String(), 'Why it failed.'),
  waiting: Nullable(Type.String(), 'Why it is waiting; null while it is not waiting.'),
  undo_until: Nullable(
    Timestamp,
    'Until when it can be undone; null: it has not ended, created no contact, or was undone.',
  ),
  undone: integer('Contacts that were removed again because it was undone.'),
  undone_at: Nullable(Timestamp, 'When undoing it was complete.'),
  created_by: Nullable(
    Type.String(),
    'Who started it: an address, or the name of an API key; null: not known.',
  ),
  consent: Nullable(Type.String(), 'How these people agreed to get mail; null: not given.'),
})
export type ContactImport = Static<typeof ContactImport>
export const ContactImportList = listOf(ContactImport, 'imports')

export const ContactImportUndone = object('What was removed.', {
  object: kind('contact_import_undone'),
  id: Id,
  contacts: integer('Contacts that this request removed.'),
  done: boolean('Whether all were removed. If not, repeat the request.'),
})
export type ContactImportUndone = Static<typeof ContactImportUndone>

export const ContactImportDeleted = object('The discarded import.', { ...reference, deleted: Deleted })

export const importParams = byId
const operation = operationsIn('Contacts')

export const createContactImport = operation('POST /contacts/imports', {
  summary: 'Import contacts',
  description:
    'Rows are written in the background, 1,000 in one transaction. An import may opt contacts out; it never lifts an opt-out. It sends no `contact.*` webhooks.',
  consumes: ['multipart/form-data'],
  body: CreateContactImport,
  errors: ['409', '413', '507'],
  response: { 201: ContactImportRef },
})
export const listContactImports = operation('GET /contacts/imports', {
  summary: 'List imports',
  querystring: query({ ...page, status: choice(IMPORT_STATUSES, 'Only imports in this state.') }),
  response: { 200: ContactImportList },
})
export const getContactImport = operation('GET /contacts/imports/:id', {
  summary: 'Get an import',
  params: importParams,
  response: { 200: ContactImport },
})
export const exportContactRejects = operation('GET /contacts/imports/:id/rejects.csv', {
  summary: 'Export rejected rows',
  description: 'Rows that could not be read: line number, reason and text. Not part of the hosted API.',
  params: importParams,
  response: { 200: nonJsonContent('text/csv', 'The rows, with a header row.') },
})

export const undoContactImport = operation('POST /contacts/imports/:id/undo', {
  summary: 'Undo an import',
  description:
    'Removes contacts that the import created, 500 for each request. Contacts that it changed, and created properties, stay as they are. Opt-outs made since then are kept, as for deleted contacts. Possible for 24 hours after the import ended; sends no webhooks. Not part of the hosted API.',
  params: importParams,
  errors: ['409'],
  response: { 200: ContactImportUndone },
})

export const presentImportRef = ({ id }: { id: string }) => ({ object: 'contact_import' as const, id })

const WAITING = 'The server has too little free disk space. The import goes on when there is more.'

export function presentContactImport(found: StoredImport & { waiting: boolean }): ContactImport {
  const { total, created, updated, skipped, failed, kept, duplicates, rejects } = found.counts
  return {
    ...presentImportRef(found),
    status: found.status === 'draft' ? 'queued' : found.status,
    created_at: timestamp(found.createdAt),
    completed_at: timestampOrNull(found.completedAt),
    counts: { total, created, updated, skipped, failed },
    unsubscribed_kept: kept,
    duplicates,
    file_name: found.fileName,
    file_bytes: found.bytes,
    processed_bytes: found.processed,
    file_sha256: found.fileSha256,
    on_conflict: found.onConflict,
    rejects,
    error: found.error,
    waiting: found.waiting ? WAITING : null,
    undo_until: timestampOrNull(
      found.completedAt !== null && created > 0 && found.undoneAt === null
        ? found.completedAt + UNDO_WINDOW_MS
        : null,
    ),
    undone: found.undone,
    undone_at: timestampOrNull(found.undoneAt),
    created_by: found.plan?.by ?? null,
    consent: found.plan?.consent ?? null,
  }
}

/**
 * Converts a request to the options of an import.
 *
 * @param by who makes the request: an address, or the name of an API key
 */
export function toImportInput(settings: ImportSettings, by: string): ImportInput {
  const { column_map: map, on_conflict, segments, topics, consent } = settings
  return {
    map: map
      ? {
          email: map.email ?? '',
          firstName: map.first_name ?? null,
          lastName: map.last_name ?? null,
          unsubscribed: map.unsubscribed ?? null,
          properties: Object.entries(map.properties ?? {}).map(([key, { column: name, type }]) => ({
            key,
            column: name,
            type: type ?? ('string' as const),
          })),
        }
      : null,
    onConflict: on_conflict ?? 'upsert',
    segmentIds: (segments ?? []).map(({ id }) => id),
    topics: topics ?? [],
    consent: consent ?? '',
    by,
  }
}

/** The header row of the file of rejected rows. */
export const formatRejectHeader = ({ columns }: Pick<StoredImport, 'columns'>): string =>
  formatCsvRecord([...columns, 'line', 'reason'])

/** Formats a rejected row; missing cells are empty. */
export const formatRejectRow = (columns: number, { line, reason, cells }: ImportReject): string =>
  formatCsvRecord([...Array.from({ length: columns }, (_, at) => cells[at] ?? ''), String(line), reason])
