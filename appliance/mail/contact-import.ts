/** The words of contact imports. Pure. */

/** What the API shows. A file that is only previewed so far has none of them. */
export const IMPORT_STATUSES = ['queued', 'in_progress', 'completed', 'failed'] as const
export type ImportStatus = (typeof IMPORT_STATUSES)[number]

/** upsert: contacts that exist already are changed · skip: they stay as they are. */
export const ON_CONFLICT = ['upsert', 'skip'] as const
export type OnConflict = (typeof ON_CONFLICT)[number]

/** How the values of a column are read. A boolean becomes the string `true` or `false`. */
export const COLUMN_TYPES = ['string', 'number', 'boolean'] as const
export type ColumnType = (typeof COLUMN_TYPES)[number]

/** What a column can be. */
export const IMPORT_FIELDS = ['email', 'first_name', 'last_name', 'unsubscribed', 'property'] as const
export type ImportField = (typeof IMPORT_FIELDS)[number]

/** Encodings of uploaded files. Stored files are in UTF-8. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** The comma stands for files that have only one column. */
export const SEPARATORS = [',', ';', '\t', '|'] as const
export type Separator = (typeof SEPARATORS)[number]

/** Services whose exports are recognized; `hosted` is the service whose API this is. */
export const SERVICES = ['mailchimp', 'listmonk', 'hosted'] as const
export type Service = (typeof SERVICES)[number]

/** Which column becomes what: names of columns. */
export interface ColumnMap {
  email: string
  firstName: string | null
  lastName: string | null
  unsubscribed: string | null
  /** By the key of the property. */
  properties: { key: string; column: string; type: ColumnType }[]
}
