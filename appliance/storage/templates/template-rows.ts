/** Types of templates and their versions, and how they are read. */
import type { Selectable } from 'kysely'
import { contains, type Page, type PageArgs, readPage } from '../lists.ts'
import type { Db } from '../schema.ts'
import type { TemplatesTable, TemplateVersionsTable } from './tables.ts'

/** A variable that a template declares. */
export interface StoredVariable {
  id: string
  key: string
  type: 'string' | 'number'
  /** Null: none. */
  fallback: string | number | null
  createdAt: number
  updatedAt: number
}

/** The content of a template. */
export interface TemplateContent {
  /** The From field; null if each request sets it. The same applies to the next two fields. */
  from: string | null
  subject: string | null
  replyTo: string[] | null
  html: string
  /** Plain text; null if it is generated from the HTML, empty if there is none. */
  text: string | null
  /** JSON of the document that HTML and text were compiled from; null if they were written as code. */
  document: string | null
  variables: StoredVariable[]
}

export interface TemplateVersionSummary {
  id: string
  templateId: string
  subject: string | null
  /** Who last changed the version. */
  author: string
  createdAt: number
  updatedAt: number
  /** When the version was first published; null if never. */
  publishedAt: number | null
}

export interface TemplateVersion extends TemplateVersionSummary, TemplateContent {}

export interface TemplateSummary {
  id: string
  teamId: string
  name: string
  alias: string | null
  currentVersionId: string
  /** ID of the published version, which is sent; null if the template was never published. */
  publishedVersionId: string | null
  publishedAt: number | null
  /** Number of changes. */
  revision: number
  createdAt: number
  updatedAt: number
}

/** A template with its current version. */
export interface Template extends TemplateSummary {
  version: TemplateVersion
}

/** Identifies a template. Ids never look like an alias. */
export type TemplateRef = { id: string } | { alias: string }

const toTemplate = (row: Selectable<TemplatesTable>): TemplateSummary => ({
  id: row.id,
  teamId: row.team_id,
  name: row.name,
  alias: row.alias,
  currentVersionId: row.current_version_id,
  publishedVersionId: row.published_version_id,
  publishedAt: row.published_at,
  revision: row.revision,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

type SummaryRow = Pick<Selectable<TemplateVersionsTable>, (typeof summaryColumns)[number]>

const summaryColumns = [
  'id',
  'template_id',
  'subject',
  'author',
  'created_at',
  'updated_at',
  'published_at',
] as const

const toSummary = (row: SummaryRow): TemplateVersionSummary => ({
  id: row.id,
  templateId: row.template_id,
  subject: row.subject,
  author: row.author,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  publishedAt: row.published_at,
})

const toVersion = (row: Selectable<TemplateVersionsTable>): TemplateVersion => ({
  ...toSummary(row),
  from: row.from_header,
  replyTo: row.reply_to === null ? null : (JSON.parse(row.reply_to) as string[]),
  html: row.html,
  text: row.text,
  document: row.document,
  variables: JSON.parse(row.variables) as StoredVariable[],
})

/** Returns the columns for a template's content. */
export const contentColumns = ({
  from,
  subject,
  replyTo,
  html,
  text,
  document,
  variables,
}: TemplateContent) => ({
  from_header: from,
  subject,
  reply_to: replyTo === null ? null : JSON.stringify(replyTo),
  html,
  text,
  document,
  variables: JSON.stringify(variables),
})

/** Finds the row of a template; undefined if the team has no such template. */
export async function findTemplate(
  db: Db,
  { teamId, ref }: { teamId: string; ref: TemplateRef },
): Promise<TemplateSummary | undefined> {
  const [column, value] = 'id' in ref ? (['id', ref.id] as const) : (['alias', ref.alias] as const)
  const row = await db
    .selectFrom('templates')
    .selectAll()
    .where('team_id', '=', teamId)
    .where(column, '=', value)
    .executeTakeFirst()
  return row && toTemplate(row)
}

/** Returns a version of a template. */
async function getTemplateVersion(
  db: Db,
  args: { teamId: string; templateId: string; id: string },
): Promise<TemplateVersion | undefined> {
  const row = await db
    .selectFrom('template_versions')
    .selectAll()
    .where('team_id', '=', args.teamId)
    .where('template_id', '=', args.templateId)
    .where('id', '=', args.id)
    .executeTakeFirst()
  return row && toVersion(row)
}

/** Returns a template with its current or its published version; undefined if there is no such template or version. */
export async function getTemplate(
  db: Db,
  { published = false, ...args }: { teamId: string; ref: TemplateRef; published?: boolean },
): Promise<Template | undefined> {
  const template = await findTemplate(db, args)
  const id = published ? template?.publishedVersionId : template?.currentVersionId
  if (!template || !id) return undefined
  const version = await getTemplateVersion(db, { teamId: args.teamId, templateId: template.id, id })
  return version && { ...template, version }
}

/**
 * Lists templates, newest first.
 * @param args text: part of the name or alias
 */
async function listTemplates(
  db: Db,
  { text, status, ...args }: PageArgs & { text?: string; status?: 'draft' | 'published' },
): Promise<Page<TemplateSummary>> {
  let query = db.selectFrom('templates').selectAll().where('team_id', '=', args.teamId)
  if (status !== undefined)
    query = query.where('published_version_id', status === 'draft' ? 'is' : 'is not', null)
  if (text !== undefined)
    query = query.where((where) => where.or([contains('name', text), contains('alias', text)]))
  return readPage(query, args, toTemplate)
}

/** Lists the versions of a template, newest first, without their content. */
async function listTemplateVersions(
  db: Db,
  { templateId, ...args }: PageArgs & { templateId: string },
): Promise<Page<TemplateVersionSummary>> {
  const versions = db
    .selectFrom('template_versions')
    .select(summaryColumns)
    .where('team_id', '=', args.teamId)
    .where('template_id', '=', templateId)
  return readPage(versions, args, toSummary)
}

export const methods = {
  reads: { getTemplate, listTemplates, getTemplateVersion, listTemplateVersions },
}
