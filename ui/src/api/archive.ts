/** API calls for the public archive, and its settings as the values of a form. */
import type { Archive, UpdateArchive } from '../../../appliance/api/archive.ts'
import { change, read } from './client.ts'

export const getArchive = (signal?: AbortSignal) => read<Archive>('/archive', signal)

export const updateArchive = (body: UpdateArchive) => change<Archive>('PATCH', '/archive', body)

/** Values of the form. Empty: the default, or none. */
export interface ArchiveForm {
  slug: string
  title: string
  description: string
  domain: string
  formId: string
  indexed: boolean
}

export const formOf = (archive: Archive): ArchiveForm => ({
  slug: archive.slug ?? '',
  title: archive.title ?? '',
  description: archive.description ?? '',
  domain: archive.domain ?? '',
  formId: archive.form_id ?? '',
  indexed: archive.indexed,
})

const orNull = (text: string): string | null => (text.trim() === '' ? null : text)

/** Returns the request body for saving. An empty slug is left out, so that the server makes one. */
export const bodyOf = ({
  slug,
  title,
  description,
  domain,
  formId,
  indexed,
}: ArchiveForm): UpdateArchive => ({
  ...(slug.trim() !== '' && { slug: slug.trim() }),
  title: orNull(title),
  description: orNull(description),
  domain: orNull(domain),
  form_id: orNull(formId),
  indexed,
})
