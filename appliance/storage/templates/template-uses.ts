/** What uses templates: emails, enabled automations and drafts of broadcasts. */
import { sql } from 'kysely'
import type { Db } from '../schema.ts'

/** How often a template is used. */
export interface TemplateUses {
  templateId: string
  /** Number of emails made from the template since the requested time, at most `most`. */
  emails: number
  /** Number of enabled automations that send the template. */
  automations: number
  /** Number of drafts and scheduled broadcasts whose content was made from the template. */
  drafts: number
}

/**
 * Counts the uses of templates of a team. Reads at most `most` index entries for each count.
 * @param args since: counts emails from this time on
 */
async function templateUses(
  db: Db,
  { teamId, ids, since, most }: { teamId: string; ids: readonly string[]; since: number; most: number },
): Promise<TemplateUses[]> {
  if (ids.length === 0) return []
  const emails = sql`select 1 as n from emails e
    where e.template_id = t.id and e.created_at >= ${since} limit ${most}`
  // An automation may use both the ID and the alias.
  const automations = sql`select distinct a.id from automation_templates s join automations a on a.id = s.automation_id
    where s.team_id = t.team_id and s.template in (t.id, t.alias) and a.status = 'enabled' and a.deleted_at is null
    limit ${most}`
  const drafts = sql`select 1 as n from broadcasts b
    where b.template_id = t.id and b.status in ('draft', 'scheduled') limit ${most}`
  const { rows } = await sql<Record<'id' | 'emails' | 'automations' | 'drafts', string | number>>`
    select t.id,
      (select count(*) from (${emails}) as x) as emails,
      (select count(*) from (${automations}) as y) as automations,
      (select count(*) from (${drafts}) as z) as drafts
    from templates t where t.team_id = ${teamId} and t.id in (${sql.join(ids)})`.execute(db)
  return rows.map((row) => ({
    templateId: String(row.id),
    emails: Number(row.emails),
    automations: Number(row.automations),
    drafts: Number(row.drafts),
  }))
}

export const methods = { reads: { templateUses } }
