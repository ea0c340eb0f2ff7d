/** Calls about templates. */
import type { Static } from 'typebox'
import type {
  Template,
  TemplateList,
  TemplateRef,
  TemplateVersion,
  TemplateVersionList,
  UpdateTemplate,
} from '../../../appliance/api/templates.ts'
import { change, read } from './client.ts'

export type { Template }
type Ref = Static<typeof TemplateRef>

const at = (id: string) => `/templates/${encodeURIComponent(id)}`

/** A page of the templates. @param filter empty texts: no condition */
export function listTemplates(
  filter: { text: string; status: string; after: string | null; before: string | null },
  signal?: AbortSignal,
) {
  const query = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries(filter))
    if (value !== null && value !== '') query.set(name, value)
  return read<TemplateList>(`/templates?${query}`, signal)
}

export const getTemplate = (id: string, signal?: AbortSignal) => read<Template>(at(id), signal)

export const createTemplate = (body: { name: string; html: string }) =>
  change<Ref>('POST', '/templates', body)

export const updateTemplate = (id: string, body: Static<typeof UpdateTemplate>) =>
  change<Ref>('PATCH', at(id), body)

export const deleteTemplate = (id: string) => change('DELETE', at(id))

export const publishTemplate = (id: string) => change('POST', `${at(id)}/publish`)

export const duplicateTemplate = (id: string) => change<Ref>('POST', `${at(id)}/duplicate`)

export const listVersions = (id: string, signal?: AbortSignal) =>
  read<TemplateVersionList>(`${at(id)}/versions?limit=100`, signal)

export const getVersion = (id: string, version: string, signal?: AbortSignal) =>
  read<TemplateVersion>(`${at(id)}/versions/${version}`, signal)

export const restoreVersion = (id: string, version: string) =>
  change('POST', `${at(id)}/versions/${version}/restore`)

/** Sends the draft to one address. */
export const testTemplate = (id: string, body: { to: string; variables: Record<string, unknown> }) =>
  change<{ id: string }>('POST', `${at(id)}/test`, body)
