/** Templates: content that is stored once and sent often. */
import { Type, type Static } from 'typebox'
import type {
  Template as StoredTemplate,
  TemplateSummary as StoredSummary,
  TemplateVersion as StoredVersion,
  TemplateVersionSummary as StoredVersionSummary,
} from '../storage/storage.ts'
import type { ListedTemplate } from '../templates/templates.ts'
import { operationsIn } from './operation.ts'
import { choice, page, path, pathId, pathText, query, text } from './parameters.ts'
import { EmailCreated } from './sending.ts'
import {
  array,
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
import { Deleted, DocumentInput, Id, listOf, presentDocument, StoredDocument, Timestamp } from './shared.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'

const STATUSES = ['draft', 'published'] as const
const VALUE = 'Up to 2,000 characters, or a number. Other JSON becomes text. null: none.'

/** A variable in a request. */
export const TemplateVariableInput = object('A variable of the template.', {
  key: string('Name: 1 to 50 letters, digits and underscores. Case matters.', { examples: ['PRODUCT'] }),
  type: literals(
    ['string', 'number', 'boolean', 'object', 'list'],
    'string or number. The other types are stored as string.',
  ),
  fallback_value: Type.Optional(
    Type.Unknown({ description: `Used when a request gives no value. ${VALUE}` }),
  ),
})

const fields = {
  alias: optionalText('Another name for the id, unique in the team. null removes it.'),
  from: optionalText('The default From field: `Name <address>` or an address.'),
  subject: optionalText('The default subject. May contain merge tags.'),
  reply_to: optionalOrNull(
    Type.Union([Type.String(), Type.Array(Type.String())]),
    'The default for replies.',
  ),
  text: optionalText('Plain text. May contain merge tags. null: generated from the HTML; "": none.'),
  variables: optionalOrNull(
    Type.Array(TemplateVariableInput),
    'The variables, at most 50. They replace all before.',
  ),
}
const name = string('Name, at most 255 characters.', { examples: ['Order confirmation'] })
const html = string('The HTML, with merge tags such as `{{{PRODUCT}}}`. At most 1,000,000 characters.', {
  examples: ['<p>Your order: {{{PRODUCT}}}</p>'],
})

export const CreateTemplate = object('A template to create, with `html` or with `document`.', {
  name,
  html: Type.Optional(html),
  ...fields,
  document: DocumentInput,
})
export const UpdateTemplate = object('What to change. Other fields stay the same.', {
  name: optionalOrNull(name, 'A new name; null: unchanged.'),
  html: optionalOrNull(html, 'New HTML; null: unchanged.'),
  ...fields,
  document: DocumentInput,
  revision: optionalOrNull(Type.Integer(), 'Refuses the change if the template has another revision.'),
})
const reference = { object: kind('template'), id: Id }
export const TemplateRef = object('The template.', reference)
export const TemplateDeleted = object('The deleted template.', { ...reference, deleted: Deleted })

const summary = {
  id: Id,
  name,
  alias: Nullable(Type.String(), 'Another name for the id; null: none.'),
  status: literals(STATUSES, 'draft: never published · published: can be sent.'),
  published_at: Nullable(Timestamp, 'When it was last published; null: never.'),
  created_at: Timestamp,
  updated_at: Timestamp,
  has_unpublished_versions: boolean('Whether the draft differs from what is sent.'),
}
export const TemplateSummary = object('A template, without its content.', {
  ...summary,
  emails: integer('Emails made from it in the last 30 days, at most 10,000.'),
  automations: integer('Enabled automations that send it.'),
  drafts: integer('Drafts and scheduled broadcasts whose content was made from it, by `template_id`.'),
})
export type TemplateSummary = Static<typeof TemplateSummary>
export const TemplateList = listOf(TemplateSummary, 'templates')
export type TemplateList = Static<typeof TemplateList>

const TemplateVariable = object('A variable of the template.', {
  id: Id,
  key: string('The name in merge tags.'),
  type: literals(['string', 'number'], 'The type of its values.'),
  fallback_value: Nullable(
    Type.Union([Type.String(), Type.Number()]),
    'Used when a request gives no value; null: each request has to give one.',
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
})
const content = {
  from: Nullable(Type.String(), 'The default From field; null: none.'),
  subject: Nullable(Type.String(), 'The default subject; null: none.'),
  reply_to: Nullable(Type.Array(Type.String()), 'The default for replies; null: none.'),
  html: string('The HTML, with merge tags.'),
  text: Nullable(Type.String(), 'Plain text; null: generated from the HTML.'),
  document: StoredDocument,
  variables: array(TemplateVariable, 'The variables.'),
}
export const Template = object(
  'A template with its draft, or with the published version if there is no newer draft.',
  {
    object: kind('template'),
    current_version_id: Id,
    ...summary,
    ...content,
    published_version_id: Nullable(Id, 'The version that is sent; null: none.'),
    revision: integer('Counts the changes.'),
  },
)
export type Template = Static<typeof Template>

const versionSummary = {
  id: Id,
  subject: Nullable(Type.String(), 'The default subject; null: none.'),
  author: string('The person or API key that changed it last.'),
  created_at: Timestamp,
  updated_at: Timestamp,
  published_at: Nullable(Timestamp, 'When it was first published; null: never.'),
}
export const TemplateVersionSummary = object('A version of a template.', versionSummary)
export type TemplateVersionSummary = Static<typeof TemplateVersionSummary>
export const TemplateVersionList = listOf(TemplateVersionSummary, 'versions')
export type TemplateVersionList = Static<typeof TemplateVersionList>
export const TemplateVersion = object('A version of a template, with its content.', {
  object: kind('template_version'),
  template_id: Id,
  ...versionSummary,
  ...content,
})
export type TemplateVersion = Static<typeof TemplateVersion>

export const TestTemplate = object('A test of a template.', {
  to: string('Who gets it: one address.'),
  variables: optionalOrNull(
    Type.Record(Type.String(), Type.Unknown()),
    'Values by the name of their variable.',
  ),
})

const id = pathText('The id or alias.')
const params = path({ id })
const operation = operationsIn('Templates')

export const createTemplate = operation('POST /templates', {
  summary: 'Create a template',
  description: 'The template is a draft: publish it before sending. A team can have at most 1,000.',
  body: CreateTemplate,
  response: { 201: TemplateRef },
  errors: ['409'],
})
export const listTemplates = operation('GET /templates', {
  summary: 'List templates',
  querystring: query({
    ...page,
    text: text(string('Only templates with this text in the name or alias.')),
    status: choice(STATUSES, 'Only templates with this status.'),
  }),
  response: { 200: TemplateList },
})
export const getTemplate = operation('GET /templates/:id', {
  summary: 'Get a template',
  params,
  response: { 200: Template },
})
export const updateTemplate = operation('PATCH /templates/:id', {
  summary: 'Change a template',
  description: 'Changes the draft. Emails use the published version until you publish the draft.',
  params,
  body: UpdateTemplate,
  response: { 200: TemplateRef },
  errors: ['409'],
})
export const deleteTemplate = operation('DELETE /templates/:id', {
  summary: 'Delete a template',
  description:
    'Deletes all its versions. Emails already created from it stay. Refused while an enabled automation sends it.',
  params,
  response: { 200: TemplateDeleted },
  errors: ['409'],
})
export const publishTemplate = operation('POST /templates/:id/publish', {
  summary: 'Publish a template',
  description: 'From then on, emails use the content of the draft.',
  params,
  response: { 200: TemplateRef },
})
export const duplicateTemplate = operation('POST /templates/:id/duplicate', {
  summary: 'Duplicate a template',
  description: 'Makes a new draft with the same content and no alias.',
  params,
  response: { 200: TemplateRef },
})
export const listTemplateVersions = operation('GET /templates/:id/versions', {
  summary: 'List the versions of a template',
  description: 'The last 100, and the published one.',
  params,
  querystring: query(page),
  response: { 200: TemplateVersionList },
})
export const testTemplate = operation('POST /templates/:id/test', {
  summary: 'Send a test of a template',
  description: 'Sends the draft to one address, with `[Test]` before its subject. It counts as an email.',
  params,
  body: TestTemplate,
  response: { 200: EmailCreated },
  errors: ['507'],
})
const versionParams = path({ id, version_id: pathId })
export const getTemplateVersion = operation('GET /templates/:id/versions/:version_id', {
  summary: 'Get a version of a template',
  params: versionParams,
  response: { 200: TemplateVersion },
})
export const restoreTemplateVersion = operation('POST /templates/:id/versions/:version_id/restore', {
  summary: 'Restore a version of a template',
  description:
    'Copies the version into the draft. Emails use the published version until you publish the draft.',
  params: versionParams,
  response: { 200: TemplateRef },
})

const presentSummary = (template: StoredSummary) => ({
  id: template.id,
  name: template.name,
  alias: template.alias,
  status: template.publishedVersionId === null ? ('draft' as const) : ('published' as const),
  published_at: timestampOrNull(template.publishedAt),
  created_at: timestamp(template.createdAt),
  updated_at: timestamp(template.updatedAt),
  has_unpublished_versions: template.currentVersionId !== template.publishedVersionId,
})

export const presentTemplateRef = ({ id }: Pick<StoredSummary, 'id'>): Static<typeof TemplateRef> => ({
  object: 'template',
  id,
})

export const presentTemplateSummary = (template: ListedTemplate): TemplateSummary => ({
  ...presentSummary(template),
  emails: template.emails,
  automations: template.automations,
  drafts: template.drafts,
})

const presentContent = ({ from, subject, replyTo, html, text, document, variables }: StoredVersion) => ({
  from,
  subject,
  reply_to: replyTo,
  html,
  text,
  document: presentDocument(document),
  variables: variables.map(({ id, key, type, fallback, createdAt, updatedAt }) => ({
    id,
    key,
    type,
    fallback_value: fallback,
    created_at: timestamp(createdAt),
    updated_at: timestamp(updatedAt),
  })),
})

export const presentTemplate = (template: StoredTemplate): Template => ({
  object: 'template',
  current_version_id: template.currentVersionId,
  ...presentSummary(template),
  ...presentContent(template.version),
  published_version_id: template.publishedVersionId,
  revision: template.revision,
})

export const presentVersionSummary = (version: StoredVersionSummary): TemplateVersionSummary => ({
  id: version.id,
  subject: version.subject,
  author: version.author,
  created_at: timestamp(version.createdAt),
  updated_at: timestamp(version.updatedAt),
  published_at: timestampOrNull(version.publishedAt),
})

export const presentVersion = (version: StoredVersion): TemplateVersion => ({
  object: 'template_version',
  template_id: version.templateId,
  ...presentVersionSummary(version),
  ...presentContent(version),
})
