/** API calls for templates. */
import type { Static } from 'typebox'
import type {
  CreateTemplate,
  Template,
  TemplateList,
  TemplateRef,
  TemplateVersion,
  TemplateVersionList,
  TestTemplate,
  UpdateTemplate,
} from '../../../appliance/api/templates.ts'
import type { EmailCreated } from '../../../appliance/api/sending.ts'
import type { Cursor } from './calls.ts'
import { change, read, addQueryString } from './client.ts'

export type { Template }
type Ref = Static<typeof TemplateRef>

const at = (id: string) => `/templates/${encodeURIComponent(id)}`

/**
 * Lists one page of templates.
 * @param filter empty strings are ignored
 */
export const listTemplates = (
  filter: { text: string; status: string },
  { after, before }: Cursor,
  signal?: AbortSignal,
) => read<TemplateList>(addQueryString('/templates', { ...filter, after, before, limit: 50 }), signal)

export const getTemplate = (id: string, signal?: AbortSignal) => read<Template>(at(id), signal)

export const createTemplate = (body: Static<typeof CreateTemplate>) => change<Ref>('POST', '/templates', body)

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

/** Sends a test of the draft to one address. */
export const testTemplate = (id: string, body: Static<typeof TestTemplate>) =>
  change<Static<typeof EmailCreated>>('POST', `${at(id)}/test`, body)
