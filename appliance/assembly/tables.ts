/** The tables of data that a running daemon can exchange: each is asked for anew whenever it is used. */
import {
  loadBlocklists,
  loadBounces,
  loadPlans,
  loadProviders,
  loadReturnedMail,
  loadRobots,
} from '../config/config.ts'
import type { Config } from '../config/config.ts'

/** What a table is now. */
type Current<T> = () => T

/** A table that can be read again. */
interface Exchangeable<T> {
  current: Current<T>
  /** Reads it again. Throws, and keeps what was in use, when it cannot be used. */
  reread: () => void
}

/** All of them; `reread` puts what the files say now in the place of what they said. */
export interface LiveTables {
  plans: ReturnType<typeof loadPlans>
  providers: Current<ReturnType<typeof loadProviders>>
  bounces: Current<ReturnType<typeof loadBounces>>
  returnedMail: Current<ReturnType<typeof loadReturnedMail>>
  robots: Current<ReturnType<typeof loadRobots>>
  blocklists: Current<ReturnType<typeof loadBlocklists>>
  /** Returns what could not be used: there the old table stays. Each by itself, so that one mistake keeps back only its own. */
  reread(): Error[]
}

function exchangeable<T>(read: () => T): Exchangeable<T> {
  let value = read()
  return { current: () => value, reread: () => void (value = read()) }
}

/** Reads the tables that the configuration names, or those that come with the program. Throws `TableRefused` or `PlansRefused`. */
export function openTables({ limits, delivery, tracking, doctor }: Config): LiveTables {
  const connections = delivery.max_connections_per_domain
  const providers = exchangeable(() => loadProviders({ connections }, delivery.providers))
  const bounces = exchangeable(() => loadBounces(delivery.bounces))
  const returnedMail = exchangeable(() => loadReturnedMail(delivery.returned_mail))
  const robots = exchangeable(() => loadRobots(tracking.robots))
  const blocklists = exchangeable(() => loadBlocklists(doctor.blocklists))
  // Quotas hold the map itself.
  const plans = new Map(loadPlans(limits.plans))
  const rereadPlans = (): void => {
    const fresh = loadPlans(limits.plans)
    plans.clear()
    for (const [name, plan] of fresh) plans.set(name, plan)
  }
  const all = [
    rereadPlans,
    ...[providers, bounces, returnedMail, robots, blocklists].map(({ reread }) => reread),
  ]
  return {
    plans,
    providers: providers.current,
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
    // The caller tells it to whoever asked for the reload; the daemon goes on with what it has.
    return [error as Error]
  }
}
