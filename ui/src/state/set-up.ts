import type { DomainSummary } from '../../../appliance/api/domains.ts'
import type { Email } from '../../../appliance/api/emails.ts'

/** Progress of the setup. It is derived from existing data, so people can leave and return. */

/** Existing data that the steps depend on. */
export interface Facts {
  domains: readonly Pick<DomainSummary, 'id' | 'name' | 'status'>[]
  /** Number of API keys. */
  keys: number
  /** The delivered email or, if there is none, the newest email. */
  email: Pick<Email, 'id' | 'last_event'> | null
}

export const STEPS = ['owner', 'host', 'domain', 'key', 'email'] as const
export type Step = (typeof STEPS)[number] | 'done'

/** Returns the domain for the setup: the first verified one, otherwise the oldest. */
export const domainOf = ({ domains }: Facts): Facts['domains'][number] | undefined =>
  domains.find(({ status }) => status === 'verified') ?? domains.at(-1)

const ARRIVED: readonly Email['last_event'][] = ['delivered', 'opened', 'clicked']

/** Whether the recipient's server accepted the email. */
export const hasArrived = ({ last_event: last }: Pick<Email, 'last_event'>): boolean => ARRIVED.includes(last)

/**
 * Returns the current step.
 * @param facts null: nobody is signed in
 * @param accepted whether the person confirmed the host's checks; an existing domain implies that
 */
export function stepOf(facts: Facts | null, accepted: boolean): Step {
  if (facts === null) return 'owner'
  const domain = domainOf(facts)
  if (!domain && !accepted) return 'host'
  if (domain?.status !== 'verified') return 'domain'
  if (facts.keys === 0) return 'key'
  return facts.email !== null && hasArrived(facts.email) ? 'done' : 'email'
}

/** Returns the number of completed steps. */
export const behind = (step: Step): number => (step === 'done' ? STEPS.length : STEPS.indexOf(step))
