import { periodsOf } from '../methods/quotas.ts'
import type { QuotaLimit, Usage } from '../storage.ts'
import type { Connection } from './connection.ts'

/** Part of `put`: counts recipients, or says of which period they are too many; then nothing was counted. */
export type Count = (quota: QuotaLimit, recipients: number, now: number) => Usage | 'daily' | 'monthly'

export function createCount(db: Connection): Count {
  const used = db
    .prepare<[string, string], number>('select used from quotas where team_id = ? and period = ?')
    .pluck()
  const add = db.prepare(
    `insert into quotas (team_id, period, used) values (?, ?, ?)
     on conflict (team_id, period) do update set used = used + excluded.used`,
  )
  return ({ teamId, daily, monthly }, recipients, now) => {
    const { day, month } = periodsOf(now)
    const usage = {
      daily: (used.get(teamId, day) ?? 0) + recipients,
      monthly: (used.get(teamId, month) ?? 0) + recipients,
    }
    // The month first: who is out of both need not come back tomorrow.
    if (monthly !== null && usage.monthly > monthly) return 'monthly'
    if (daily !== null && usage.daily > daily) return 'daily'
    add.run(teamId, day, recipients)
    add.run(teamId, month, recipients)
    return usage
  }
}
