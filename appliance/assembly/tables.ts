/**
 * Data tables that a running daemon can reload. They are always read through a function, so that the current version is
 * used.
 */
import {
  loadBlocklists,
  loadBounceRules,
  loadPlans,
  loadProviderRules,
  loadProviders,
  loadReturnedMailRules,
  loadBotRules,
} from '../config/config.ts'
import type { Config } from '../config/config.ts'

/** Returns the current table. */
type Current<T> = () => T

/** A table that can be reloaded. */
interface Exchangeable<T> {
  current: Current<T>
  /** Reloads the table. If it is invalid, throws and keeps the current version. */
  reread: () => void
}

/** All tables; `reread` reloads them from their files. */
export interface LiveTables {
  plans: ReturnType<typeof loadPlans>
  providers: Current<ReturnType<typeof loadProviders>>
  providerRules: Current<ReturnType<typeof loadProviderRules>>
  bounces: Current<ReturnType<typeof loadBounceRules>>
  returnedMail: Current<ReturnType<typeof loadReturnedMailRules>>
  robots: Current<ReturnType<typeof loadBotRules>>
  blocklists: Current<ReturnType<typeof loadBlocklists>>
  /** Reloads each table independently. Returns the errors; invalid tables keep their old version. */
  reread(): Error[]
}

function exchangeable<T>(read: () => T): Exchangeable<T> {
  let value = read()
  return { current: () => value, reread: () => void (value = read()) }
}

/** Loads the configured tables, or those included in the program. Throws `InvalidTable` or `InvalidPlans`. */
export function openTables({ limits, delivery, tracking, doctor }: Config): LiveTables {
  const connections = delivery.max_connections_per_domain
  const providers = exchangeable(() => loadProviders({ connections }, delivery.providers))
  const providerRules = exchangeable(() => loadProviderRules(delivery.provider_rules))
  const bounces = exchangeable(() => loadBounceRules(delivery.bounces))
  const returnedMail = exchangeable(() => loadReturnedMailRules(delivery.returned_mail))
  const robots = exchangeable(() => loadBotRules(tracking.robots))
  const blocklists = exchangeable(() => loadBlocklists(doctor.blocklists))
  // Quotas keep a reference to the map.
  const plans = new Map(loadPlans(limits.plans))
  const rereadPlans = (): void => {
    const fresh = loadPlans(limits.plans)
    plans.clear()
    for (const [name, plan] of fresh) plans.set(name, plan)
  }
  const all = [
    rereadPlans,
    ...[providers, providerRules, bounces, returnedMail, robots, blocklists].map(({ reread }) => reread),
  ]
  return {
    plans,
    providers: providers.current,
    providerRules: providerRules.current,
    bounces: bounces.current,
    returnedMail: returnedMail.current,
    robots: robots.current,
    blocklists: blocklists.current,
    reread: () => all.flatMap(failureOf),
  }
}

function failureOf(step: () => void): Error[] {
  try {
    step()
    return []
  } catch (error) {
    // The caller reports the error; the daemon continues with the old table.
    return [error as Error]
  }
}
