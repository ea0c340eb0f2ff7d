/** Reports how much a team may still send, based on its plan and usage. `storage.put` counts the usage. */
import type { Clock } from '../clock/clock.ts'
import type { QuotaLimit, Storage, Usage, UsageHistory } from '../storage/storage.ts'

export interface Quotas {
  /** Returns the limit that `storage.put` enforces for a team. */
  limitOf(teamId: string): Promise<QuotaLimit>
  /** Returns a team's plan. */
  planOf(teamId: string): Promise<NamedPlan>
  /** Lists all plans that a team can have. */
  plans(): NamedPlan[]
  /** Returns a team's plan, its usage today and this month, and when those periods end. */
  usageOf(teamId: string): Promise<{ plan: Plan; usage: Usage; ends: PeriodEnds }>
  /** Returns a team's usage in the last 30 days and 12 months. */
  historyOf(teamId: string): Promise<UsageHistory>
}

const HISTORY = { days: 30, months: 12 }

export interface QuotasDeps {
  storage: Pick<Storage, 'planOf' | 'usage' | 'usageHistory'>
  clock: Clock
  plans: Plans
}

export function createQuotas({ storage, clock, plans }: QuotasDeps): Quotas {
  const planOf = async (teamId: string): Promise<NamedPlan> => {
    const name = (await storage.planOf({ teamId }, clock.now())) ?? ''
    const plan = plans.get(name)
    return plan ? { name, ...plan } : { name: null, ...UNLIMITED }
  }

  return {
    planOf,
    plans: () => [...plans].map(([name, plan]) => ({ name, ...plan })),
    async limitOf(teamId) {
      const { daily, monthly } = await planOf(teamId)
      return { teamId, daily, monthly }
    },
    async usageOf(teamId) {
      const now = clock.now()
      return {
        plan: await planOf(teamId),
        usage: await storage.usage({ teamId }, now),
        ends: computePeriodEnds(now),
      }
    },
    historyOf: (teamId) => storage.usageHistory({ teamId, ...HISTORY }, clock.now()),
  }
}

/** When the current periods end, in Unix milliseconds. */
export interface PeriodEnds {
  day: number
  month: number
}

/** Returns when the UTC day and month that contain `now` end, and usage is reset. */
export function computePeriodEnds(now: number): PeriodEnds {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { day: Date.UTC(year, month, date.getUTCDate() + 1), month: Date.UTC(year, month + 1, 1) }
}

/** Plans limit how much a team may send. config/ reads the file; a team stores the name of its plan. */

export interface Plan {
  /** Maximum number of recipients per UTC day; null if unlimited. */
  daily: number | null
  /** Maximum number of recipients per UTC month; null if unlimited. */
  monthly: number | null
}

/** A plan with its name; null if the plan is no longer in the file. */
export interface NamedPlan extends Plan {
  name: string | null
}

/** All plans by name. */
export type Plans = ReadonlyMap<string, Plan>

/** The limits that apply without a plan, or with a plan that is no longer in the file. */
const UNLIMITED: Plan = { daily: null, monthly: null }
