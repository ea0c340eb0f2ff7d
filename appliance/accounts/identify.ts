/** Who somebody is here whom a provider vouches for: the rules, without asking anybody. */
import { type Assertion, type ProviderSettings, domainOf } from './provider.ts'

/** What is known here of the one who comes. */
export interface Known {
  /** Whose identity it is; null: nobody's yet. */
  identityOf: string | null
  /** Who has that address here; null: nobody. */
  addressOf: string | null
  /** Whether that person has shown that it is theirs. */
  proven: boolean
  /** Whether a team waits for that address. */
  invited: boolean
}

/**
 * domain: the address is of a domain that may not enter · not_linked: the address is known here, and its owner has not said
 * yet that this is them · unproven: the address is known here, and nobody has shown yet that it is theirs · unknown: nobody knows them
 */
export type IdentifyProblem = 'domain' | 'not_linked' | 'unproven' | 'unknown'

/** link: from now on the identity is that person's · invited, join: a new person */
export type Identified =
  | { kind: 'known'; userId: string }
  | { kind: 'link'; userId: string }
  | { kind: 'invited' }
  | { kind: 'join' }
  | { kind: 'refused'; problem: IdentifyProblem }

/**
 * The order is what keeps accounts from being taken over: issuer and subject first, since they never belong to somebody else; the
 * address, which may, only where the operator wants it, and for an existing person never by an invitation.
 */
export function identify(settings: ProviderSettings, assertion: Assertion, known: Known): Identified {
  if (!mayEnter(settings, assertion)) return { kind: 'refused', problem: 'domain' }
  if (known.identityOf !== null) return { kind: 'known', userId: known.identityOf }
  const owned = ownsAddress(settings, assertion)
  if (known.addressOf !== null) {
    if (!settings.linkByEmail || !owned) return { kind: 'refused', problem: 'not_linked' }
    // Else whoever made the account in somebody's name would share it with them.
    if (!known.proven) return { kind: 'refused', problem: 'unproven' }
    return { kind: 'link', userId: known.addressOf }
  }
  if (known.invited && owned) return { kind: 'invited' }
  if (settings.join && owned) return { kind: 'join' }
  return { kind: 'refused', problem: 'unknown' }
}

/** Whether the provider's second factor does. Where it tells how people proved themselves, that is listened to. */
export function isStrong(
  { trustSecondFactor }: ProviderSettings,
  { methods }: Pick<Assertion, 'methods'>,
): boolean {
  if (!trustSecondFactor) return false
  return methods === null || methods.some((method) => SECOND_FACTORS.includes(method))
}

/** RFC 8176 §2: values that mean more than something known. */
const SECOND_FACTORS = ['mfa', 'otp', 'hwk', 'swk', 'sc', 'pop', 'fpt', 'face', 'iris', 'retina']

/**
 * Google lets anybody verify an address of a domain that it does not run, and goes on vouching for it when the address has
 * long been taken away. Only for the organisation in `hd`, and for its own mailboxes, is its word today's.
 */
function mayEnter({ preset, allowedDomains }: ProviderSettings, assertion: Assertion): boolean {
  if (allowedDomains.length === 0) return true
  const domain = domainOf(assertion.email)
  if (!allowedDomains.includes(domain)) return false
  if (preset !== 'google') return true
  const { hostedDomain } = assertion
  return GOOGLE_MAILBOXES.includes(domain) || (hostedDomain !== null && allowedDomains.includes(hostedDomain))
}

const GOOGLE_MAILBOXES = ['gmail.com', 'googlemail.com']

function ownsAddress({ preset }: ProviderSettings, { email, hostedDomain }: Assertion): boolean {
  return preset !== 'google' || hostedDomain !== null || GOOGLE_MAILBOXES.includes(domainOf(email))
}
