/** API calls for imports of contacts. */
import type { Static } from 'typebox'
import type {
  ContactImportPreview,
  ContactImportSummary,
} from '../../../appliance/api/contact-import-previews.ts'
import type {
  ContactImportList,
  ContactImportUndone,
  ImportSettings,
} from '../../../appliance/api/contact-imports.ts'
import { change, postQuery, read, upload } from './client.ts'

export type { ContactImportPreview, ContactImportSummary }

export const listImports = (signal?: AbortSignal) =>
  read<Static<typeof ContactImportList>>('/contacts/imports?limit=50', signal)

/** Maximum size of a file in bytes. The server enforces it, too. */
const MAX_FILE = 200 * 1024 * 1024

/**
 * Uploads a file, which the server keeps for a day. Returns a guess for each column. Throws an error that is shown to
 * the user if the file is too large.
 */
export async function previewImport(file: File, options: Parameters<typeof upload>[2]) {
  if (file.size > MAX_FILE)
    throw new Error(`${file.name} is larger than 200 MB. Split it and import the parts one after the other.`)
  const form = new FormData()
  form.set('file', file)
  return upload<ContactImportPreview>('/contacts/imports/preview', form, options)
}

/** Returns the effects that an import would have. */
export const summarizeImport = (id: string, settings: ImportSettings) =>
  postQuery<ContactImportSummary>(`/contacts/imports/${id}/summary`, settings)

export const startImport = (id: string, settings: ImportSettings) =>
  change('POST', `/contacts/imports/${id}/start`, settings)

export const discardImport = (id: string) => change('DELETE', `/contacts/imports/${id}`)

/**
 * Removes all contacts that an import created, in several requests.
 * @param onpart called with the number of contacts removed so far
 */
export async function undoImport(id: string, onpart: (contacts: number) => void): Promise<number> {
  let contacts = 0
  for (let done = false; !done;) {
    const part = await change<ContactImportUndone>('POST', `/contacts/imports/${id}/undo`)
    contacts += part.contacts
    done = part.done
    onpart(contacts)
  }
  return contacts
}

/** URL of a download with the rows that couldn't be imported. */
export const rejectsUrl = (id: string): string => `/contacts/imports/${id}/rejects.csv`
