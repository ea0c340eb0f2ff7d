import type { Selectable } from 'kysely'
import type { Tag } from '../emails.ts'
import type { Db, HoldRulesTable } from '../schema.ts'
import type { Connection } from '../connection.ts'
import type { TagFilter } from './matching.ts'

/** A rule that holds new mail that meets all of its conditions. A condition that is null always matches. */
export interface HoldRule {
  /** ID of the audit entry for the creation of the rule. */
  id: string
  teamId: string | null
  domain: string | null
  /**
   * Mail to a domain that was never looked up is held once its provider is known. By then, the first attempt may be
   * running.
   */
  provider: string | null
  tag: TagFilter | null
  createdAt: number
}

/** Converts a row. */
export const toHoldRule = (row: Selectable<HoldRulesTable>): HoldRule => ({
  id: row.id,
  teamId: row.team_id,
  domain: row.domain,
  provider: row.provider,
  tag: row.tag_name === null ? null : { name: row.tag_name, value: row.tag_value },
  createdAt: row.created_at,
})

/** Adds a rule. Returns false if there are already `most` rules. */
async function addHoldRule(db: Db, { rule, most }: { rule: HoldRule; most: number }): Promise<boolean> {
  const { id, teamId, domain, provider, tag, createdAt } = rule
  const { count } = await db
    .selectFrom('hold_rules')
    .select((row) => row.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) >= most) return false
  await db
    .insertInto('hold_rules')
    .values({
      id,
      team_id: teamId,
      domain,
      provider,
      tag_name: tag?.name ?? null,
      tag_value: tag?.value ?? null,
      created_at: createdAt,
    })
    .execute()
  return true
}

/** Lists the rules of a team, or all rules, oldest first. */
async function listHoldRules(db: Db, { teamId }: { teamId?: string | undefined }): Promise<HoldRule[]> {
  let query = db.selectFrom('hold_rules').selectAll()
  if (teamId !== undefined) query = query.where('team_id', '=', teamId)
  return (await query.orderBy('id').execute()).map(toHoldRule)
}

/** Removes a rule. Returns false if it doesn't exist. Mail that the rule held stays held. */
async function removeHoldRule(db: Db, { id }: { id: string }): Promise<boolean> {
  const deleted = await db.deleteFrom('hold_rules').where('id', '=', id).executeTakeFirstOrThrow()
  return deleted.numDeletedRows > 0n
}

interface RuleRow {
  id: string
  team_id: string | null
  domain: string | null
  provider: string | null
  tag_name: string | null
  tag_value: string | null
}

/** Returns the ID of the rule that holds a delivery; null if there is none. */
export type HoldLookup = (delivery: { domain: string; provider: string }) => string | null

const none: HoldLookup = () => null

/**
 * Part of `put`: finds the rules that hold new mail, for one email. Reads the table each time, so that a rule from another
 * process applies immediately after its commit. Without any rules, that takes 2 microseconds.
 */
export function createHoldLookup(
  db: Connection,
): (email: { teamId: string; tags: readonly Tag[] }) => HoldLookup {
  const any = db.prepare<[], number>('select 1 from hold_rules limit 1').pluck()
  const ofTeam = db.prepare<[string], RuleRow>(
    `select id, team_id, domain, provider, tag_name, tag_value from hold_rules
     where team_id is null or team_id = ? order by id`,
  )
  return ({ teamId, tags }) => {
    if (any.get() === undefined) return none
    const rules = ofTeam.all(teamId).filter((rule) => isTagged(rule, tags))
    return ({ domain, provider }) =>
      rules.find(
        (rule) =>
          (rule.domain === null || rule.domain === domain) &&
          (rule.provider === null || rule.provider === provider),
      )?.id ?? null
  }
}

const isTagged = ({ tag_name: name, tag_value: value }: RuleRow, tags: readonly Tag[]): boolean =>
  name === null || tags.some((tag) => tag.name === name && (value === null || tag.value === value))

export const methods = {
  reads: { listHoldRules },
  writes: { addHoldRule, removeHoldRule },
}
