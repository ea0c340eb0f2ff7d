/** Previews of imports. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import { COLUMN_TYPES, ENCODINGS, IMPORT_FIELDS, SEPARATORS, SERVICES } from '../mail/contact-import.ts'
import {
  ColumnMap,
  ContactImportDeleted,
  ContactImportRef,
  importCounts,
  importParams,
  ImportSettings,
  uploadFields,
} from './contact-imports.ts'
import { DRAFT_RETENTION_MS, type ImportPreview, type ImportSummary } from '../audience/audience.ts'
import type { ColumnMap as StoredMap } from '../mail/contact-import.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { array, arrayOfObjects, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, Timestamp } from './shared.ts'

/** POST /contacts/imports/preview, multipart/form-data */
export const PreviewContactImport = object('The file.', uploadFields)

const Column = object('A column and what it seems to be.', {
  name: string('Name of the column.'),
  field: Nullable(literals(IMPORT_FIELDS), 'What the column seems to be; null: nothing that is imported.'),
  key: Nullable(Type.String(), 'Suggested key of the contact property.'),
  type: Nullable(literals(COLUMN_TYPES), 'Suggested type of the contact property.'),
})

/** The response to POST /contacts/imports/preview and GET /contacts/imports/:id/preview */
export const ContactImportPreview = object('A file that waits to be imported.', {
  object: kind('contact_import_preview'),
  id: Id,
  created_at: Timestamp,
  expires_at: Timestamp,
  file_name: string('Name of the file.'),
  file_bytes: integer('Size of the file in UTF-8, in bytes.'),
  encoding: literals(ENCODINGS, 'Encoding that was recognized.'),
  separator: literals(SEPARATORS, 'Separator that was recognized.'),
  service: Nullable(literals(SERVICES), 'Service whose export this is; null: unknown.'),
  columns: array(Column, 'Columns in the order of the file.'),
  column_map: ColumnMap,
  rows: array(Type.Array(Type.String()), 'The first 20 rows: cells, cut at 200 characters.'),
})
export type ContactImportPreview = Static<typeof ContactImportPreview>

export const ContactImportSummary = object('What an import would do. Nothing was written.', {
  object: kind('contact_import_summary'),
  id: Id,
  counts: object('Expected results of the rows.', importCounts),
  unsubscribed_kept: integer('Contacts that opted out before, and would stay opted out.'),
  unsubscribed_new: integer('Contacts that the import would opt out.'),
  duplicates: integer('Rows whose address also appears earlier in the file.'),
  new_properties: array(Type.String(), 'Keys of contact properties that would be created.'),
  rejects: arrayOfObjects('The first 20 rows that cannot be read.', {
    line: integer('Line number.'),
    reason: string('Why the row cannot be read.'),
    text: string('The row, cut at 200 characters.'),
  }),
})
export type ContactImportSummary = Static<typeof ContactImportSummary>

const operation = operationsIn('Contacts')

export const previewContactImport = operation('POST /contacts/imports/preview', {
  summary: 'Upload a file to preview',
  description:
    'Keeps the file for 24 hours without importing it. Start the import with `POST /contacts/imports/:id/start`. Not part of the hosted API.',
  consumes: ['multipart/form-data'],
  body: PreviewContactImport,
  errors: ['409', '413', '507'],
  response: { 201: ContactImportPreview },
})
export const getContactImportPreview = operation('GET /contacts/imports/:id/preview', {
  summary: 'Get the preview of an import',
  description: 'Until the import is started. Not part of the hosted API.',
  params: importParams,
  response: { 200: ContactImportPreview },
})
export const summarizeContactImport = operation('POST /contacts/imports/:id/summary', {
  summary: 'Summarize an import before it starts',
  description:
    'Reads the whole file and writes nothing. A million rows take about 10 seconds. Not part of the hosted API.',
  params: importParams,
  body: ImportSettings,
  errors: ['409'],
  response: { 200: ContactImportSummary },
})
export const startContactImport = operation('POST /contacts/imports/:id/start', {
  summary: 'Start a previewed import',
  description: 'Not part of the hosted API.',
  params: importParams,
  body: ImportSettings,
  errors: ['409'],
  response: { 200: ContactImportRef },
})
export const deleteContactImport = operation('DELETE /contacts/imports/:id', {
  summary: 'Discard an import',
  description: 'Only before its first row is written. Not part of the hosted API.',
  params: importParams,
  errors: ['409'],
  response: { 200: ContactImportDeleted },
})

export function presentImportPreview({
  import: found,
  service,
  columns,
  map,
  rows,
}: ImportPreview): ContactImportPreview {
  return {
    object: 'contact_import_preview',
    id: found.id,
    created_at: timestamp(found.createdAt),
    expires_at: timestamp(found.createdAt + DRAFT_RETENTION_MS),
    file_name: found.fileName,
    file_bytes: found.bytes,
    encoding: found.encoding,
    separator: found.separator,
    service,
    columns,
    column_map: presentMap(map),
    rows,
  }
}

const presentMap = (map: StoredMap): ColumnMap => ({
  email: map.email === '' ? null : map.email,
  first_name: map.firstName,
  last_name: map.lastName,
  unsubscribed: map.unsubscribed,
  properties: Object.fromEntries(map.properties.map(({ key, column, type }) => [key, { column, type }])),
})

export function presentImportSummary(summary: ImportSummary): ContactImportSummary {
  const { id, counts, keptOptOuts, newOptOuts, duplicates, newProperties, rejects } = summary
  return {
    object: 'contact_import_summary',
    id,
    counts,
    unsubscribed_kept: keptOptOuts,
    unsubscribed_new: newOptOuts,
    duplicates,
    new_properties: newProperties,
    rejects: rejects.map(({ line, reason, cells }) => ({
      line,
      reason,
      text: cells.join(', ').slice(0, 200).toWellFormed(),
    })),
  }
}
