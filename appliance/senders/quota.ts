/** How much a team may still send: its plan, and what was counted. The counting itself is part of `storage.put`. */
import type { Clock } from '../clock/clock.ts'
import type { QuotaLimit, Storage, Usage, UsageHistory } from '../storage/storage.ts'

export interface Quotas {
  /** What `storage.put` has to hold a team to. */
  limitOf(teamId: string): Promise<QuotaLimit>
  /** A team's plan. */
  planOf(teamId: string): Promise<NamedPlan>
  /** All plans that a team can be given. */
  plans(): NamedPlan[]
  /** A team's plan, what it has used of it today and this month, and when those end. */
  usageOf(teamId: string): Promise<{ plan: Plan; usage: Usage; ends: PeriodEnds }>
  /** What a team used in the last 30 days and 12 months. */
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
        ends: periodEnds(now),
      }
    },
    historyOf: (teamId) => storage.usageHistory({ teamId, ...HISTORY }, clock.now()),
  }
}

/** In Unix milliseconds. */
export interface PeriodEnds {
  day: number
  month: number
}

/** When the UTC day and month of a moment end: what was used counts no longer. */
export function periodEnds(now: number): PeriodEnds {
  const date = new Date(now)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { day: Date.UTC(year, month, date.getUTCDate() + 1), month: Date.UTC(year, month + 1, 1) }
}

/** Plans: how much a team may send. The file with them is read in config/; a team has the name of one. */

export interface Plan {
  /** Recipients in a UTC day; null for any number. */
  daily: number | null
  /** Recipients in a UTC month; null for any number. */
  monthly: number | null
}

/** A plan with what it is called; null: it is no longer in the file. */
export interface NamedPlan extends Plan {
  name: string | null
}

/** All plans by name. */
export type Plans = ReadonlyMap<string, Plan>

/** What a plan without any limit says; also for a team whose plan is no longer in the file. */
const UNLIMITED: Plan = { daily: null, monthly: null }
