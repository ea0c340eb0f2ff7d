/** Identity providers as the rest of the sign-in sees them, whatever they speak. */
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client'
import type { Role } from '../mail/roles.ts'

/** Who speaks how: google and oidc are OpenID Connect, github is OAuth 2.0 with an API of its own. */
export type ProviderPreset = 'google' | 'github' | 'oidc'

/** A row of `sign_in.providers`, complete. */
export interface ProviderSettings {
  /** Stands in addresses, in the audit log and in sessions as `oidc:<id>`. */
  id: string
  preset: ProviderPreset
  /** For people: `Sign in with <label>`. */
  label: string
  /** OpenID Connect: the issuer identifier. GitHub: the origin of the server. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Address domains that may enter, in lower case; empty: all. */
  allowedDomains: readonly string[]
  /** What strangers become; null: nothing. teamId null: in the first team. */
  join: { role: Exclude<Role, 'owner'>; teamId: string | null } | null
  /** Whether a verified address is enough to be taken for the person of that address. */
  linkByEmail: boolean
  /** Whether the provider's own second factor does for ours. */
  trustSecondFactor: boolean
}

/** What a provider says of the one who was there. */
export interface Assertion {
  /** Names the person for good together with `subject` (OpenID Connect Core 1.0 §5.7). */
  issuer: string
  subject: string
  /** In lower case; the provider says that it is theirs. */
  email: string
  /** The organisation that the account belongs to, by its domain: Google's `hd`. */
  hostedDomain: string | null
  /** How they proved it (RFC 8176); null: not told. */
  methods: readonly string[] | null
}

/** What has to be the same when the browser comes back as when it left. */
export interface Flow {
  /** RFC 6749 §10.12. */
  state: string
  /** OpenID Connect Core 1.0 §3.1.2.1. */
  nonce: string
  /** RFC 7636 §4.1. */
  verifier: string
}

/** One provider. Both methods reject with `ProviderProblem`. */
export interface Provider {
  readonly settings: ProviderSettings
  /** Where the browser goes. */
  authorize(flow: Flow, redirectUri: string): Promise<URL>
  /** @param returned the redirect URI with the query that the browser came back with */
  exchange(flow: Flow, returned: URL): Promise<Assertion>
}

/**
 * denied: the person said no there · unreachable: no answer, or one that tells of a fault · misconfigured: it does not
 * accept us, or is not what the configuration says · invalid: the answer is not one to our question · unverified: it does
 * not vouch for an address
 */
export type ProviderFault = 'denied' | 'unreachable' | 'misconfigured' | 'invalid' | 'unverified'

/** Why a provider told us nobody. `message` is for the log: the provider's own words may be in it. */
export class ProviderProblem extends Error {
  readonly fault: ProviderFault
  constructor(fault: ProviderFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** How long one request to a provider may take, in seconds. People wait for it. */
export const PROVIDER_TIMEOUT = 10

/** Runs a step with the provider; what goes wrong there becomes a `ProviderProblem`, what goes wrong here stays what it is. */
export async function withProvider<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw problemOf(error) ?? error
  }
}

/** RFC 6749 §4.1.2.1 and OpenID Connect Core 1.0 §3.1.2.6: errors that are the person's, or that pass. */
const ANSWERS: Partial<Record<string, ProviderFault>> = {
  access_denied: 'denied',
  login_required: 'denied',
  consent_required: 'denied',
  interaction_required: 'denied',
  account_selection_required: 'denied',
  server_error: 'unreachable',
  temporarily_unavailable: 'unreachable',
}

/** RFC 6749 §5.2; the second is GitHub's name for the first. */
const SPENT_CODES = ['invalid_grant', 'bad_verification_code']

const words = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(': ').slice(0, 300)

function problemOf(error: unknown): ProviderProblem | undefined {
  if (error instanceof ProviderProblem) return error
  if (error instanceof AuthorizationResponseError) {
    const text = words('it answered', error.error, error.error_description)
    return new ProviderProblem(ANSWERS[error.error] ?? 'misconfigured', text)
  }
  if (error instanceof ResponseBodyError) {
    const spent = SPENT_CODES.includes(error.error)
    const fault = error.status >= 500 ? 'unreachable' : spent ? 'invalid' : 'misconfigured'
    return new ProviderProblem(fault, words('it answered', error.error, error.error_description))
  }
  if (error instanceof ClientError) return clientProblem(error)
  // Fetch rejects with a TypeError whose cause tells what happened to the connection; others are mistakes of ours.
  if (error instanceof TypeError && error.cause instanceof Error)
    return new ProviderProblem('unreachable', words('it cannot be reached', causeOf(error.cause)))
  return undefined
}

const causeOf = (cause: Error) => (cause as NodeJS.ErrnoException).code ?? cause.message

/** What openid-client makes of answers that are not as they should be. */
function clientProblem({ code, message, cause }: ClientError): ProviderProblem {
  const why = cause instanceof Error ? cause.message : undefined
  switch (code) {
    case 'OAUTH_TIMEOUT':
      return new ProviderProblem('unreachable', `it did not respond within ${PROVIDER_TIMEOUT} seconds`)
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM': {
      const status = cause instanceof Response ? cause.status : 0
      return new ProviderProblem(
        status >= 500 || status === 429 ? 'unreachable' : 'misconfigured',
        `it returned status ${status}`,
      )
    }
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
    case 'OAUTH_PARSE_ERROR':
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
    case 'OAUTH_HTTP_REQUEST_FORBIDDEN':
    case 'OAUTH_REQUEST_PROTOCOL_FORBIDDEN':
    case 'OAUTH_MISSING_SERVER_METADATA':
    case 'OAUTH_INVALID_SERVER_METADATA':
      return new ProviderProblem('misconfigured', words(message, why))
    default:
      return new ProviderProblem('invalid', words(message, why))
  }
}

/** Small questions about the names that providers use. */

/** Whether a URL leads to this machine and nowhere else: only there is plain http:// of use to nobody who listens. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/**
 * What a person can be known by: one `@`, no blanks, as `createOwner` asks for. And each sign in its one form (NFC): those for kelvin, ångström and
 * ohm are the letters of other people's addresses in small letters.
 */
export const isAddress = (text: string): boolean =>
  text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text) && text === text.normalize('NFC')

/** The part after the `@`, in lower case. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase()
