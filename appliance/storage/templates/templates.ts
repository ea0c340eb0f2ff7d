/** Changes of templates. A version can be changed until it is published; then the next change creates a new one. */
import { deleteOldVersions } from '../lists.ts'
import type { Db } from '../schema.ts'
import {
  contentColumns,
  findTemplate,
  getTemplate,
  type Template,
  type TemplateContent,
  type TemplateRef,
  type TemplateSummary,
} from './template-rows.ts'

/** A change to a template. Undefined fields are left unchanged. */
export interface TemplateChange {
  name?: string | undefined
  /** Null removes it. */
  alias?: string | null | undefined
  content: Partial<TemplateContent>
}

/** The result of a change. `stale`: someone else changed the template meanwhile. */
export type SaveTemplateResult =
  { kind: 'saved'; template: Template } | { kind: 'absent' | 'taken' | 'stale' }

/** Stores a template with its first version. If two callers use the same alias, its unique index decides. */
async function createTemplate(
  db: Db,
  { template, most }: { template: Template; most: number },
): Promise<'created' | 'taken' | 'too_many'> {
  const { teamId, alias, version } = template
  const { n } = await db
    .selectFrom('templates')
    .select((select) => select.fn.countAll<number>().as('n'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  if (Number(n) >= most) return 'too_many'
  const inserted = await db
    .insertInto('templates')
    .values({
      id: template.id,
      team_id: teamId,
      name: template.name,
      alias,
      current_version_id: version.id,
      published_version_id: null,
      published_at: null,
      revision: template.revision,
      created_at: template.createdAt,
      updated_at: template.updatedAt,
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'alias']).doNothing())
    .executeTakeFirstOrThrow()
  if (inserted.numInsertedOrUpdatedRows === 0n) return 'taken'
  await insertVersion(
    db,
    template,
    { id: version.id, content: version, author: version.author },
    template.createdAt,
  )
  return 'created'
}

async function insertVersion(
  db: Db,
  { id: templateId, teamId }: { id: string; teamId: string },
  { id, content, author }: { id: string; content: TemplateContent; author: string },
  now: number,
): Promise<void> {
  await db
    .insertInto('template_versions')
    .values({
      id,
      team_id: teamId,
      template_id: templateId,
      ...contentColumns(content),
      author,
      created_at: now,
      updated_at: now,
      published_at: null,
    })
    .execute()
}

/**
 * Changes a template: its draft in place or, if the current version is published, as a new version.
 * @param args revision: the revision that the caller read; undefined to skip this check. newVersionId: ID for a new
 * draft. keep: number of versions to keep
 */
async function updateTemplate(
  db: Db,
  args: {
    teamId: string
    ref: TemplateRef
    change: TemplateChange
    author: string
    revision?: number | undefined
    newVersionId: string
    keep: number
  },
  now: number,
): Promise<SaveTemplateResult> {
  const { teamId, change, author, newVersionId } = args
  const old = await getTemplate(db, { teamId, ref: args.ref })
  if (!old) return { kind: 'absent' }
  if (args.revision !== undefined && args.revision !== old.revision) return { kind: 'stale' }
  if (change.alias && (await isTaken(db, teamId, change.alias, old.id))) return { kind: 'taken' }
  const changesContent = Object.keys(change.content).length > 0
  const content = { ...old.version, ...change.content }
  const makesDraft = changesContent && old.currentVersionId === old.publishedVersionId
  if (makesDraft) {
    await insertVersion(db, old, { id: newVersionId, content, author }, now)
    const versions = { table: 'template_versions', owner: 'template_id', id: old.id } as const
    await deleteOldVersions(db, { ...versions, keep: args.keep, except: old.publishedVersionId })
  } else if (changesContent)
    await db
      .updateTable('template_versions')
      .set({ ...contentColumns(content), author, updated_at: now })
      .where('id', '=', old.currentVersionId)
      .execute()
  await db
    .updateTable('templates')
    .set({
      name: change.name ?? old.name,
      alias: change.alias === undefined ? old.alias : change.alias,
      current_version_id: makesDraft ? newVersionId : old.currentVersionId,
      revision: old.revision + 1,
      updated_at: now,
    })
    .where('id', '=', old.id)
    .execute()
  return { kind: 'saved', template: (await getTemplate(db, { teamId, ref: { id: old.id } }))! }
}

/** Whether another template of the team has the alias. */
async function isTaken(db: Db, teamId: string, alias: string, id: string): Promise<boolean> {
  const other = await findTemplate(db, { teamId, ref: { alias } })
  return other !== undefined && other.id !== id
}

/** Publishes the current version. Returns undefined if there is no such template. */
async function publishTemplate(
  db: Db,
  { teamId, ref }: { teamId: string; ref: TemplateRef },
  now: number,
): Promise<TemplateSummary | undefined> {
  const template = await findTemplate(db, { teamId, ref })
  if (!template) return undefined
  const { id, currentVersionId, publishedVersionId } = template
  // Publishing the published version again has no effect.
  if (currentVersionId === publishedVersionId) return template
  await db
    .updateTable('template_versions')
    .set({ published_at: now })
    .where('id', '=', currentVersionId)
    .where('published_at', 'is', null)
    .execute()
  const change = { published_version_id: currentVersionId, published_at: now, updated_at: now }
  await db.updateTable('templates').set(change).where('id', '=', id).execute()
  return { ...template, publishedVersionId: currentVersionId, publishedAt: now, updatedAt: now }
}

/** Deletes a template and its versions. Returns undefined if there is no such template. */
async function deleteTemplate(
  db: Db,
  { teamId, ref }: { teamId: string; ref: TemplateRef },
): Promise<TemplateSummary | undefined> {
  const template = await findTemplate(db, { teamId, ref })
  if (!template) return undefined
  await db.deleteFrom('template_versions').where('template_id', '=', template.id).execute()
  const deleted = await db.deleteFrom('templates').where('id', '=', template.id).executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n ? template : undefined
}

export const methods = {
  writes: { createTemplate, updateTemplate, publishTemplate, deleteTemplate },
}
