import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import type { LaneDay, LaneRecord, ProviderSettings } from '../storage.ts'

type Db = Kysely<Tables>

/** See `Storage.saveLanes`. */
export async function saveLanes(db: Db, { lanes }: { lanes: LaneRecord[] }): Promise<void> {
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

/** See `Storage.listLanes`. */
export async function listLanes(db: Db): Promise<LaneRecord[]> {
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

/** See `Storage.saveProviderSettings`. */
export async function saveProviderSettings(
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

/** See `Storage.listProviderSettings`. */
export async function listProviderSettings(db: Db): Promise<ProviderSettings[]> {
  const rows = await db.selectFrom('provider_settings').selectAll().orderBy('provider').execute()
  return rows.map(({ provider, settings, updated_at }) => ({
    provider,
    settings: JSON.parse(settings) as Record<string, unknown>,
    updatedAt: updated_at,
  }))
}

/** See `Storage.addLaneDays`. */
export async function addLaneDays(db: Db, { days }: { days: LaneDay[] }): Promise<void> {
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

/** See `Storage.listLaneDays`. */
export async function listLaneDays(db: Db, { since }: { since: string }): Promise<LaneDay[]> {
  return db
    .selectFrom('lane_days')
    .selectAll()
    .where('day', '>=', since)
    .orderBy('day')
    .orderBy('source')
    .orderBy('provider')
    .execute()
}
