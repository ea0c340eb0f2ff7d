import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { toHoldRule } from './hold-rules.ts'
import { holdQueue } from './queue.ts'
import { nextRange, type Step, type StepArgs, within } from './matching.ts'

/**
 * Remembers the provider of a domain for the emails to come, and moves what waits for the domain to its queue, in steps:
 * repeat with `after` until `next` is null. Leases stay as they are. When the steps are not ended, nothing is lost: what
 * was not moved goes on waiting where it is.
 * What is in the right queue already is looked at and not written.
 */
export async function place(
  db: Db,
  { domain, provider, ...step }: { domain: string; provider: string } & StepArgs,
  now: number,
): Promise<Step> {
  if (step.after === undefined) await remember(db, { domain, provider }, now)
  const range = await nextRange(db, { domain }, step)
  if (!range) return { count: 0, next: null }
  const moved = await db
    .updateTable('deliveries')
    .set({
      provider,
      // As `formatQueue` writes it.
      queue: sql<string>`pool || '/' || ${provider} || case stream when 'broadcast' then '/b/' else '/t/' end || team_id`,
    })
    .where('domain', '=', domain)
    .where('provider', '!=', provider)
    .where((where) => within(where, range))
    .executeTakeFirstOrThrow()
  await heedRules(db, { domain, provider, ...step }, now)
  return { count: Number(moved.numUpdatedRows), next: range.next }
}

/** What could not be held when it came, since nobody knew its provider, is held now. */
async function heedRules(
  db: Db,
  { domain, provider, ...step }: { domain: string; provider: string } & StepArgs,
  now: number,
): Promise<void> {
  const rules = await db.selectFrom('hold_rules').selectAll().where('provider', '=', provider).execute()
  for (const rule of rules.map(toHoldRule)) {
    if (rule.domain !== null && rule.domain !== domain) continue
    const filter = { domain, provider, teamId: rule.teamId ?? undefined, tag: rule.tag ?? undefined }
    await holdQueue(db, { ...filter, ...step, by: rule.id }, now)
  }
}

async function remember(
  db: Db,
  { domain, provider }: { domain: string; provider: string },
  now: number,
): Promise<void> {
  const changing = { provider, placed_at: now }
  await db
    .insertInto('destinations')
    .values({ domain, ...changing })
    .onConflict((conflict) => conflict.column('domain').doUpdateSet(changing))
    .execute()
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  writes: { place },
}
