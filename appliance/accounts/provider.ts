/** The interface of identity providers, the same for every protocol. */
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client'
import type { Role } from '../mail/roles.ts'

/** The protocol: google and oidc use OpenID Connect, github uses OAuth 2.0 with its own API. */
export type ProviderPreset = 'google' | 'github' | 'oidc'

/** An entry of `sign_in.providers` with defaults. */
export interface ProviderSettings {
  /** Used in URLs, in the audit log, and in sessions as `oidc:<id>`. */
  id: string
  preset: ProviderPreset
  /** Display name, as in `Sign in with <label>`. */
  label: string
  /** OpenID Connect: the issuer identifier. GitHub: the origin of the server. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Allowed address domains, in lower case; empty for all. */
  allowedDomains: readonly string[]
  /** Role and team for unknown people who sign in; null refuses them. A null `teamId` means the first team. */
  join: { role: Exclude<Role, 'owner'>; teamId: string | null } | null
  /** Whether a verified address is enough to sign in as the person with that address. */
  linkByEmail: boolean
  /** Whether the provider's second factor replaces the one here. */
  trustSecondFactor: boolean
}

/** What a provider asserts about a person. */
export interface Assertion {
  /** Identifies the person permanently together with `subject` (OpenID Connect Core 1.0 §5.7). */
  issuer: string
  subject: string
  /** In lower case; verified by the provider. */
  email: string
  /** The organization's domain: Google's `hd`. */
  hostedDomain: string | null
  /** The authentication methods (RFC 8176); null when not reported. */
  methods: readonly string[] | null
}

/** Values that must match when the browser returns. */
export interface AuthorizationFlow {
  /** Protects against CSRF (RFC 6749 §10.12). */
  state: string
  /** Protects against replay (OpenID Connect Core 1.0 §3.1.2.1). */
  nonce: string
  /** The PKCE code verifier (RFC 7636 §4.1). */
  verifier: string
}

/** A provider. Both methods reject with `ProviderProblem`. */
export interface Provider {
  readonly settings: ProviderSettings
  /** Returns the URL at the provider that the browser is sent to. */
  authorize(flow: AuthorizationFlow, redirectUri: string): Promise<URL>
  /**
   * Exchanges the code that the browser came back with for the person's assertion.
   * @param returned the redirect URI with its query
   */
  exchange(flow: AuthorizationFlow, returned: URL): Promise<Assertion>
}

/**
 * denied: the person refused · unreachable: no response, or an error · misconfigured: the provider doesn't accept this
 * client, or doesn't match the configuration · invalid: the response doesn't belong to this request · unverified: the
 * provider hasn't verified the address
 */
export type ProviderFault = 'denied' | 'unreachable' | 'misconfigured' | 'invalid' | 'unverified'

/** Signing in at the provider failed. `message` is for the log and may contain text from the provider. */
export class ProviderProblem extends Error {
  readonly fault: ProviderFault
  constructor(fault: ProviderFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** Time limit of a request to a provider, in seconds. Short, because a person is waiting. */
export const PROVIDER_TIMEOUT = 10

/** Runs a step with the provider. Converts the provider's failures to `ProviderProblem`, and rethrows other errors. */
export async function wrapProviderErrors<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw problemOf(error) ?? error
  }
}

/** Errors caused by the person, and temporary ones (RFC 6749 §4.1.2.1, OpenID Connect Core 1.0 §3.1.2.6). */
const ANSWERS: Partial<Record<string, ProviderFault>> = {
  access_denied: 'denied',
  login_required: 'denied',
  consent_required: 'denied',
  interaction_required: 'denied',
  account_selection_required: 'denied',
  server_error: 'unreachable',
  temporarily_unavailable: 'unreachable',
}

/** Errors for a used code (RFC 6749 §5.2); GitHub returns the second one. */
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
  // fetch rejects with a TypeError whose cause describes the connection problem. Other TypeErrors are bugs here.
  if (error instanceof TypeError && error.cause instanceof Error)
    return new ProviderProblem('unreachable', words('it cannot be reached', causeOf(error.cause)))
  return undefined
}

const causeOf = (cause: Error) => (cause as NodeJS.ErrnoException).code ?? cause.message

/** Converts openid-client's errors for invalid responses. */
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

/** Predicates and helpers for the URLs and addresses of identity providers. */

/** Whether a URL's host is this machine. Only then is plain http:// safe from eavesdropping. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

/**
 * Whether a text can identify a person: one `@` and no spaces, as `createOwner` requires, and in NFC. Otherwise the
 * signs for kelvin, angstrom and ohm would become the letters of another person's address in lower case.
 */
export const isAddress = (text: string): boolean =>
  text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text) && text === text.normalize('NFC')

/** Returns the domain of an address, in lower case. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase()
