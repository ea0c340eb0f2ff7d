import type { DomainSummary } from '../../../appliance/api/domains.ts'
import type { Email } from '../../../appliance/api/emails.ts'

/** How far the first run has come. It is read from what exists, so that it can be left and come back to. */

/** What exists. */
export interface Facts {
  domains: readonly Pick<DomainSummary, 'id' | 'name' | 'status'>[]
  /** How many API keys there are. */
  keys: number
  /** An email that arrived, or else the newest. */
  email: Pick<Email, 'id' | 'last_event'> | null
}

export const STEPS = ['owner', 'host', 'domain', 'key', 'email'] as const
export type Step = (typeof STEPS)[number] | 'done'

/** The domain that the steps are about: the first that is verified, or else the oldest. */
export const domainOf = ({ domains }: Facts): Facts['domains'][number] | undefined =>
  domains.find(({ status }) => status === 'verified') ?? domains.at(-1)

const ARRIVED: readonly Email['last_event'][] = ['delivered', 'opened', 'clicked']

/** Whether the recipient's mail server has taken it. */
export const hasArrived = ({ last_event: last }: Pick<Email, 'last_event'>): boolean => ARRIVED.includes(last)

/**
 * The step that is open.
 * @param facts null: nobody is signed in
 * @param accepted whether the checks of the host were seen and taken; a domain says so as well
 */
export function stepOf(facts: Facts | null, accepted: boolean): Step {
  if (facts === null) return 'owner'
  const domain = domainOf(facts)
  if (!domain && !accepted) return 'host'
  if (domain?.status !== 'verified') return 'domain'
  if (facts.keys === 0) return 'key'
  return facts.email !== null && hasArrived(facts.email) ? 'done' : 'email'
}

/** How many steps are behind. */
export const behind = (step: Step): number => (step === 'done' ? STEPS.length : STEPS.indexOf(step))
