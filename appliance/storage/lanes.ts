/** The state of lanes, which is kept across restarts, their settings and their statistics. */
import type { Db } from './schema.ts'

/** The last saved state of a lane. */
export interface LaneRecord {
  /** The sending IP, or `auto` if the system chooses it. */
  source: string
  provider: string
  /** JSON in a format that only the lanes use. */
  state: string
  /** Time until which the lane is paused; null if it isn't. */
  pausedUntil: number | null
  /** A sentence that explains the current pace; null if the lane has had no problems. */
  reason: string | null
  reasonAt: number | null
  updatedAt: number
}

/** An operator's settings for one provider. */
export interface ProviderSettings {
  provider: string
  settings: Record<string, unknown>
  updatedAt: number
}

/** The attempts of one lane on one day, and their results. */
export interface LaneDay {
  source: string
  provider: string
  /** `YYYY-MM-DD` in UTC. */
  day: string
  sent: number
  delivered: number
  deferred: number
  bounced: number
}

/** Saves lanes. Replaces those with the same source and provider. */
async function saveLanes(db: Db, { lanes }: { lanes: LaneRecord[] }): Promise<void> {
  for (const lane of lanes) {
    const changing = {
      state: lane.state,
      paused_until: lane.pausedUntil,
      reason: lane.reason,
      reason_at: lane.reasonAt,
      updated_at: lane.updatedAt,
    }
    await db
      .insertInto('lanes')
      .values({ source: lane.source, provider: lane.provider, ...changing })
      .onConflict((conflict) => conflict.columns(['source', 'provider']).doUpdateSet(changing))
      .execute()
  }
}

/** Lists lanes by source and provider. */
async function listLanes(db: Db): Promise<LaneRecord[]> {
  const rows = await db.selectFrom('lanes').selectAll().orderBy('source').orderBy('provider').execute()
  return rows.map((row) => ({
    source: row.source,
    provider: row.provider,
    state: row.state,
    pausedUntil: row.paused_until,
    reason: row.reason,
    reasonAt: row.reason_at,
    updatedAt: row.updated_at,
  }))
}

/** Saves the settings of a provider. Null deletes them, so that the defaults apply. */
async function saveProviderSettings(
  db: Db,
  { provider, settings }: { provider: string; settings: Record<string, unknown> | null },
  now: number,
): Promise<void> {
  if (settings === null) {
    await db.deleteFrom('provider_settings').where('provider', '=', provider).execute()
    return
  }
  const changing = { settings: JSON.stringify(settings), updated_at: now }
  await db
    .insertInto('provider_settings')
    .values({ provider, ...changing })
    .onConflict((conflict) => conflict.column('provider').doUpdateSet(changing))
    .execute()
}

/** Lists settings by provider. */
async function listProviderSettings(db: Db): Promise<ProviderSettings[]> {
  const rows = await db.selectFrom('provider_settings').selectAll().orderBy('provider').execute()
  return rows.map(({ provider, settings, updated_at }) => ({
    provider,
    settings: JSON.parse(settings) as Record<string, unknown>,
    updatedAt: updated_at,
  }))
}

/** Adds numbers to the stored statistics. */
async function addLaneDays(db: Db, { days }: { days: LaneDay[] }): Promise<void> {
  for (const { day, source, provider, sent, delivered, deferred, bounced } of days) {
    await db
      .insertInto('lane_days')
      .values({ day, source, provider, sent, delivered, deferred, bounced })
      .onConflict((conflict) =>
        conflict.columns(['day', 'source', 'provider']).doUpdateSet((set) => ({
          sent: set('lane_days.sent', '+', sent),
          delivered: set('lane_days.delivered', '+', delivered),
          deferred: set('lane_days.deferred', '+', deferred),
          bounced: set('lane_days.bounced', '+', bounced),
        })),
      )
      .execute()
  }
}

/** Lists the days of one sending IP from `since` on (`YYYY-MM-DD`), sorted by day and provider. */
async function listLaneDays(
  db: Db,
  { source, since }: { source: string; since: string },
): Promise<LaneDay[]> {
  return db
    .selectFrom('lane_days')
    .selectAll()
    .where('day', '>=', since)
    .where('source', '=', source)
    .orderBy('day')
    .orderBy('provider')
    .execute()
}

/** Removes days before `before` (`YYYY-MM-DD`). Returns the number of rows. */
async function purgeLaneDays(db: Db, { before }: { before: string }): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('lane_days')
    .where('day', '<', before)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export const methods = {
  reads: { listLanes, listProviderSettings, listLaneDays },
  writes: { saveLanes, saveProviderSettings, addLaneDays, purgeLaneDays },
}
