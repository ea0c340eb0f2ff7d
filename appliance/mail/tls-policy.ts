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
