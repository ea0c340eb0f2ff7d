/** Rules that decide which account a person gets when an identity provider vouches for them. No I/O. */
import { type Assertion, type ProviderSettings, domainOf } from './provider.ts'

/** Stored data about a person whom a provider vouches for. */
export interface AccountLookup {
  /** ID of the user with this identity; null if there is none. */
  identityOf: string | null
  /** ID of the user with that address; null if there is none. */
  addressOf: string | null
  /** Whether that user has proven to own the address. */
  proven: boolean
  /** Whether a team has invited that address. */
  invited: boolean
}

/**
 * domain: the address's domain isn't allowed · not_linked: the address is known here, but its owner hasn't linked this
 * identity · unproven: the address is known here, but no one has proven to own it · unknown: the address isn't known
 */
export type IdentificationProblem = 'domain' | 'not_linked' | 'unproven' | 'unknown'

/** link: link the identity to that person · invited, join: create a person */
export type IdentificationResult =
  | { kind: 'known'; userId: string }
  | { kind: 'link'; userId: string }
  | { kind: 'invited' }
  | { kind: 'join' }
  | { kind: 'refused'; problem: IdentificationProblem }

/**
 * Decides who signs in. The order prevents account takeover: issuer and subject come first, because they never change
 * owners. An address may change owners, so it counts only if the operator wants that, and an invitation never gives
 * access to an existing account.
 */
export function identifyUser(
  settings: ProviderSettings,
  assertion: Assertion,
  known: AccountLookup,
): IdentificationResult {
  if (!mayEnter(settings, assertion)) return { kind: 'refused', problem: 'domain' }
  if (known.identityOf !== null) return { kind: 'known', userId: known.identityOf }
  const owned = ownsAddress(settings, assertion)
  if (known.addressOf !== null) {
    if (!settings.linkByEmail || !owned) return { kind: 'refused', problem: 'not_linked' }
    // Otherwise someone who registered with another person's address would share the account with them.
    if (!known.proven) return { kind: 'refused', problem: 'unproven' }
    return { kind: 'link', userId: known.addressOf }
  }
  if (known.invited && owned) return { kind: 'invited' }
  if (settings.join && owned) return { kind: 'join' }
  return { kind: 'refused', problem: 'unknown' }
}

/**
 * Whether the provider's second factor counts as ours. Uses the authentication methods if the provider reports them.
 */
export function isMultiFactor(
  { trustSecondFactor }: ProviderSettings,
  { methods }: Pick<Assertion, 'methods'>,
): boolean {
  if (!trustSecondFactor) return false
  return methods === null || methods.some((method) => SECOND_FACTORS.includes(method))
}

/** Authentication methods that are stronger than a password (RFC 8176 §2). */
const SECOND_FACTORS = ['mfa', 'otp', 'hwk', 'swk', 'sc', 'pop', 'fpt', 'face', 'iris', 'retina']

/**
 * Whether the assertion's address may be used. Google lets anyone verify an address of a domain that it doesn't host,
 * and keeps vouching for it after the address has changed owners. Its assertion is reliable only for the organization
 * in `hd`, and for Google's own mailboxes.
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
