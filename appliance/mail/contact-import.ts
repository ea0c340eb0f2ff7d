/** Shared types of contact imports. Pure. */

/** States in the API. An import that has only been previewed isn't in any of them. */
export const IMPORT_STATUSES = ['queued', 'in_progress', 'completed', 'failed'] as const
export type ImportStatus = (typeof IMPORT_STATUSES)[number]

/** upsert: update existing contacts · skip: keep them unchanged. */
export const CONFLICT_ACTIONS = ['upsert', 'skip'] as const
export type ConflictAction = (typeof CONFLICT_ACTIONS)[number]

/** How a column's values are parsed. A boolean becomes the string `true` or `false`. */
export const COLUMN_TYPES = ['string', 'number', 'boolean'] as const
export type ColumnType = (typeof COLUMN_TYPES)[number]

/** Contact fields that a column can be imported as. */
export const IMPORT_FIELDS = ['email', 'first_name', 'last_name', 'unsubscribed', 'property'] as const
export type ImportField = (typeof IMPORT_FIELDS)[number]

/** Encodings of uploaded files. Stored files are in UTF-8. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Separators between columns; files with only one column use the comma. */
export const SEPARATORS = [',', ';', '\t', '|'] as const
export type Separator = (typeof SEPARATORS)[number]

/** Services whose exports are recognized; `hosted` is the service whose API this server implements. */
export const SERVICES = ['mailchimp', 'listmonk', 'hosted'] as const
export type Service = (typeof SERVICES)[number]

/** Maps fields to column names. */
export interface ColumnMap {
  email: string
  firstName: string | null
  lastName: string | null
  unsubscribed: string | null
  /** Columns of properties, by the property's key. */
  properties: { key: string; column: string; type: ColumnType }[]
}
