import type { DomainSummary } from '../../../appliance/api/domains.ts'
import type { Email } from '../../../appliance/api/emails.ts'

/** Progress of the setup. It is derived from existing data, so people can leave and return. */

/** Existing data that the steps depend on. */
export interface SetupFacts {
  domains: readonly Pick<DomainSummary, 'id' | 'name' | 'status'>[]
  /** Number of API keys. */
  keys: number
  /** The delivered email or, if there is none, the newest email. */
  email: Pick<Email, 'id' | 'last_event'> | null
}

export const STEPS = ['owner', 'host', 'domain', 'key', 'email'] as const
export type Step = (typeof STEPS)[number] | 'done'

/** Returns the domain for the setup: the first verified one, otherwise the oldest. */
export const pickSetupDomain = ({ domains }: SetupFacts): SetupFacts['domains'][number] | undefined =>
  domains.find(({ status }) => status === 'verified') ?? domains.at(-1)

const ARRIVED: readonly Email['last_event'][] = ['delivered', 'opened', 'clicked']

/** Whether the recipient's server accepted the email. */
export const hasArrived = ({ last_event: last }: Pick<Email, 'last_event'>): boolean => ARRIVED.includes(last)

/**
 * Returns the current step.
 * @param facts null if nobody is signed in
 * @param accepted whether the person confirmed the host's checks; implied if a domain exists
 */
export function getCurrentStep(facts: SetupFacts | null, accepted: boolean): Step {
  if (facts === null) return 'owner'
  const domain = pickSetupDomain(facts)
  if (!domain && !accepted) return 'host'
  if (domain?.status !== 'verified') return 'domain'
  if (facts.keys === 0) return 'key'
  return facts.email !== null && hasArrived(facts.email) ? 'done' : 'email'
}

/** Returns the number of completed steps. */
export const countCompletedSteps = (step: Step): number =>
  step === 'done' ? STEPS.length : STEPS.indexOf(step)
