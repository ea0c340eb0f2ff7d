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
export const UNLIMITED: Plan = { daily: null, monthly: null }
