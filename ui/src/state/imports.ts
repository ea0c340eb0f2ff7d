/** The column mapping of a contact import, and texts about imports. Pure. */
import Check from '@lucide/svelte/icons/check'
import Clock from '@lucide/svelte/icons/clock'
import LoaderCircle from '@lucide/svelte/icons/loader-circle'
import X from '@lucide/svelte/icons/x'
import type { ContactImportPreview } from '../../../appliance/api/contact-import-previews.ts'
import type { ContactImport, ImportSettings } from '../../../appliance/api/contact-imports.ts'
import type { StatusBadge } from './status.ts'

export const IMPORT_BADGES: Record<ContactImport['status'], StatusBadge> = {
  queued: { word: 'queued', tone: 'blue', icon: Clock },
  in_progress: { word: 'importing', tone: 'blue', icon: LoaderCircle },
  completed: { word: 'completed', tone: 'green', icon: Check },
  failed: { word: 'failed', tone: 'red', icon: X },
}

/** Whether the import still has rows to import. */
export const isUnfinished = ({ status }: Pick<ContactImport, 'status'>): boolean =>
  status === 'queued' || status === 'in_progress'

/** Returns the progress in percent, 0 to 100. */
export const computePercent = ({ processed_bytes: done, file_bytes: all }: ContactImport): number =>
  all === 0 ? 100 : Math.floor((100 * done) / all)

/** Targets of a column. `property` needs the property's key. */
export const COLUMN_TARGETS = [
  ['', 'Don’t import'],
  ['email', 'Address'],
  ['first_name', 'First name'],
  ['last_name', 'Last name'],
  ['unsubscribed', 'Opt-out'],
  ['property', 'Property'],
] as const

export interface MappedColumn {
  name: string
  field: (typeof COLUMN_TARGETS)[number][0]
  key: string
  type: 'string' | 'number' | 'boolean'
}

/** Returns the column mapping that the server guessed for a file. */
export const getGuessedMapping = ({ columns }: Pick<ContactImportPreview, 'columns'>): MappedColumn[] =>
  columns.map(({ name, field, key, type }) => ({
    name,
    field: field ?? '',
    key: key ?? '',
    type: type ?? 'string',
  }))

const MARKS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const

const EXPORTS = {
  mailchimp: 'This is an export from Mailchimp. ',
  listmonk: 'This is an export from listmonk. ',
  hosted: 'This is an export of contacts. ',
} as const

/** Describes how a file was read: the service that exported it, the encoding and the separator. */
export const describeFile = ({
  service,
  encoding,
  separator,
}: Pick<ContactImportPreview, 'service' | 'encoding' | 'separator'>): string =>
  `${service === null ? '' : EXPORTS[service]}Read as ${encoding.toUpperCase()}, separated by ${MARKS[separator]}.`

/** Returns the column mapping for the API. */
export function toColumnMap(columns: readonly MappedColumn[]): ImportSettings['column_map'] {
  const named = (field: MappedColumn['field']) => columns.find((one) => one.field === field)?.name ?? null
  const properties = columns.filter(({ field, key }) => field === 'property' && key.trim() !== '')
  return {
    email: named('email'),
    first_name: named('first_name'),
    last_name: named('last_name'),
    unsubscribed: named('unsubscribed'),
    properties: Object.fromEntries(
      properties.map(({ key, name, type }) => [key.trim(), { column: name, type }]),
    ),
  }
}
