/** What the lanes must not forget when the daemon restarts, and what people set and see of them. */
import type { Db } from './schema.ts'

/** The state of one lane, as it was last saved. */
export interface LaneRecord {
  /** The source IP, or `auto` where the system chooses it. */
  source: string
  provider: string
  /** JSON; what is in it only the lanes know. */
  state: string
  /** Nothing leaves before this time; null when it is not paused. */
  pausedUntil: number | null
  /** Why it is as it is, in a sentence; null when nothing happened yet. */
  reason: string | null
  reasonAt: number | null
  updatedAt: number
}

/** What somebody set for one provider. */
export interface ProviderSettings {
  provider: string
  settings: Record<string, unknown>
  updatedAt: number
}

/** What one lane did on one day: attempts of deliveries, and how they ended. */
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

/** Each record takes the place of the one with the same source and provider. */
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

/** By source and provider. */
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

/** Null ends what was set for the provider. */
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

/** By provider. */
async function listProviderSettings(db: Db): Promise<ProviderSettings[]> {
  const rows = await db.selectFrom('provider_settings').selectAll().orderBy('provider').execute()
  return rows.map(({ provider, settings, updated_at }) => ({
    provider,
    settings: JSON.parse(settings) as Record<string, unknown>,
    updatedAt: updated_at,
  }))
}

/** Adds the numbers to those that are there. */
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

/** From that day on (`YYYY-MM-DD`), by day, source and provider. */
async function listLaneDays(db: Db, { since }: { since: string }): Promise<LaneDay[]> {
  return db
    .selectFrom('lane_days')
    .selectAll()
    .where('day', '>=', since)
    .orderBy('day')
    .orderBy('source')
    .orderBy('provider')
    .execute()
}

/** The methods of this noun (nouns.ts). */
export const methods = {
  reads: { listLanes, listProviderSettings, listLaneDays },
  writes: { saveLanes, saveProviderSettings, addLaneDays },
}
