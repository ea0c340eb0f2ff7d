import type { Tag } from '../storage.ts'
import type { Connection } from './connection.ts'

interface RuleRow {
  id: string
  team_id: string | null
  domain: string | null
  provider: string | null
  tag_name: string | null
  tag_value: string | null
}

/** Which rule holds a delivery, by its id; null: none does. */
export type Holding = (delivery: { domain: string; provider: string }) => string | null

const none: Holding = () => null

/**
 * Part of `put`: the rules that hold new mail, for one email. Asked of the table each time, so that a rule of another
 * process holds from its commit on; while there is none, that costs 2 microseconds.
 */
export function createHolds(db: Connection): (email: { teamId: string; tags: readonly Tag[] }) => Holding {
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
