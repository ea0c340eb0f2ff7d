/** A domain's TLS policy as shown to people: the requirement for each host, and its reason. */

/** The TLS required of one host. */
export interface TlsHostView {
  host: string
  /** Preference of the MX record; null when the domain itself is the mail exchanger (no MX record). */
  preference: number | null
  /** dane · verified · encrypted · opportunistic · skipped: no mail is sent there. */
  tls: (typeof TLS_LEVELS)[number]
  /** The reason in words; null when no policy applies. */
  why: string | null
  /** The applicable TLSA records, in presentation format. */
  tlsa: string[]
}

export const TLS_LEVELS = ['dane', 'verified', 'encrypted', 'opportunistic', 'skipped'] as const

/** Everything that a domain publishes about TLS, and the result. Times in Unix milliseconds. */
export interface TlsPolicyView {
  domain: string
  /** Whether the resolver's AD flag is trusted: `dns.trust_ad`. */
  validating: boolean
  /** Whether the MX answer was validated. */
  mxAuthentic: boolean
  mtaSts: {
    mode: 'enforce' | 'testing' | 'none'
    id: string
    mx: string[]
    /** Seconds. */
    maxAge: number
    fetchedAt: number
    expiresAt: number
  } | null
  /** Problems with the domain's policies, in sentences. */
  troubles: string[]
  hosts: TlsHostView[]
  /** URIs that the domain wants TLS reports sent to. */
  reportsTo: string[]
}

/**
 * A sender's requirement on TLS (RFC 8689). yes: REQUIRETLS, only over TLS and to servers that enforce the same · no:
 * `TLS-Required: No`, delivery matters more than secrecy · null: neither.
 */
export type RequireTls = 'yes' | 'no' | null

/**
 * Combines the MAIL parameter with the header field; the parameter wins (RFC 8689 §4.1). Pure.
 * @param fields the values of all `TLS-Required` fields; ignored when there are two or the value isn't No (§3)
 */
export function resolveRequireTls(parameter: boolean, fields: readonly string[]): RequireTls {
  if (parameter) return 'yes'
  // A comment may precede or follow the value (RFC 5322 §3.2.2).
  return fields.length === 1 && /^\s*(\([^()]*\)\s*)*no\s*(\([^()]*\)\s*)*$/i.test(fields[0]!) ? 'no' : null
}
