/** A domain's TLS policy for people: what holds, host by host, and why. */

/** What would be demanded of one host. */
export interface TlsHostView {
  host: string
  /** Null where the domain itself is the exchanger. */
  preference: number | null
  /** dane · verified · encrypted · opportunistic · skipped: mail does not go there. */
  tls: (typeof TLS_LEVELS)[number]
  /** In words; null where no policy says anything. */
  why: string | null
  /** The TLSA records that hold, in presentation format. */
  tlsa: string[]
}

export const TLS_LEVELS = ['dane', 'verified', 'encrypted', 'opportunistic', 'skipped'] as const

/** All that is published about TLS towards a domain, and what follows. Times in Unix milliseconds. */
export interface TlsPolicyView {
  domain: string
  /** Whether answers of DNS can be believed to be validated: `dns.trust_ad`. */
  validating: boolean
  /** Whether the MX answer was. */
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
  /** What is wrong with the domain's policies, in sentences. */
  troubles: string[]
  hosts: TlsHostView[]
  /** Where the domain wants reports about TLS: URIs. */
  reportsTo: string[]
}

/**
 * What a sender says of encryption on the way (RFC 8689): yes: REQUIRETLS, only over TLS with servers that promise the same ·
 * no: `TLS-Required: No`, delivery matters more than secrecy · null: nothing.
 */
export type RequireTls = 'yes' | 'no' | null

/**
 * What the parameter of MAIL and the header field say together: the parameter wins (RFC 8689 §4.1). Pure.
 * @param fields the values of all `TLS-Required` fields; two of them, or another word than No, say nothing (§3)
 */
export function requireTlsOf(parameter: boolean, fields: readonly string[]): RequireTls {
  if (parameter) return 'yes'
  // A comment in brackets may stand on either side (RFC 5322 §3.2.2).
  return fields.length === 1 && /^\s*(\([^()]*\)\s*)*no\s*(\([^()]*\)\s*)*$/i.test(fields[0]!) ? 'no' : null
}
