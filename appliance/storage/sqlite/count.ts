import { periodsOf } from '../methods/quotas.ts'
import type { QuotaLimit, Usage } from '../storage.ts'
import type { Connection } from './connection.ts'

/** Part of `put`: counts recipients, or says of which period they are too many; then nothing was counted. */
export type Count = (quota: QuotaLimit, recipients: number, now: number) => Usage | 'daily' | 'monthly'

export function createCount(db: Connection): Count {
  const used = db
    .prepare<[string, string], number>('select used from quotas where team_id = ? and period = ?')
    .pluck()
  const add = db
    .prepare<[string, string, number], number>(
      `insert into quotas (team_id, period, used) values (?, ?, ?)
       on conflict (team_id, period) do update set used = used + excluded.used
       returning used`,
    )
    .pluck()
  const isOver = (teamId: string, period: string, recipients: number, limit: number | null): boolean =>
    limit !== null && (used.get(teamId, period) ?? 0) + recipients > limit

  return ({ teamId, daily, monthly }, recipients, now) => {
    const { day, month } = periodsOf(now)
    // The month first: who is out of both need not come back tomorrow.
    if (isOver(teamId, month, recipients, monthly)) return 'monthly'
    if (isOver(teamId, day, recipients, daily)) return 'daily'
    return { daily: add.get(teamId, day, recipients)!, monthly: add.get(teamId, month, recipients)! }
  }
}
