/** Policies for TLS towards recipient domains, and what became of TLS there. Of the appliance, of no team. */

/** An MTA-STS policy (RFC 8461 §3.2). */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none'
  /** Host names, and `*.` with a domain, in lower case. */
  mx: string[]
  /** Seconds. */
  maxAge: number
}

/** A policy as it was fetched. */
export interface StoredStsPolicy {
  domain: string
  /** The id that the TXT record had at the time (RFC 8461 §3.1). */
  id: string
  policy: StsPolicy
  /** When it was last fetched. */
  checkedAt: number
  usedAt: number
  /** Until when it holds. */
  expiresAt: number
}

/** The policy that a session was held to, as reports show it (RFC 8460 §4.4). */
export interface ReportedPolicy {
  type: 'sts' | 'tlsa' | 'no-policy-found'
  /** For DANE the TLSA base domain, else the recipient domain (RFC 8460 §1.1). */
  domain: string
  /** Lines of the policy file, or TLSA records in presentation format. */
  strings: string[]
  /** Patterns of an MTA-STS policy. */
  mxHosts: string[]
}

/** Sessions that ended alike. */
export interface TlsTally {
  /** YYYY-MM-DD, UTC. */
  day: string
  /** The recipient domain. */
  domain: string
  policy: ReportedPolicy
  /** A result type of RFC 8460 §4.3. */
  result: string
  /** Empty where it is not known or not told apart; so the next two. */
  sourceIp: string
  mxHost: string
  mxIp: string
  /** In words, empty for successes. */
  reason: string
  sessions: number
}

/** A report that a domain was sent, or why it was not. */
export interface TlsReportRecord {
  day: string
  domain: string
  state: 'sent' | 'none' | 'failed'
  /** A sentence. */
  note: string
  at: number
}

export interface TlsPolicyStorage {
  /** The policy of a domain, expired ones too. */
  findStsPolicy(args: { domain: string }, now: number): Promise<StoredStsPolicy | undefined>
  /** Puts it in the place of the domain's earlier one. */
  saveStsPolicy(args: StoredStsPolicy, now: number): Promise<void>
  /** Notes that the policy was used now. */
  useStsPolicy(args: { domain: string }, now: number): Promise<void>
  /** Policies that hold, were last fetched before `checkedBefore`, and used after `usedAfter`; the oldest first. */
  dueStsPolicies(
    args: { checkedBefore: number; usedAfter: number; limit: number },
    now: number,
  ): Promise<StoredStsPolicy[]>
  /**
   * Adds to the counts. A domain has at most `most` rows in a day; what would be more is counted without source, host and address, and, where
   * that is not enough, not at all.
   */
  addTlsResults(args: { results: TlsTally[]; most: number }, now: number): Promise<void>
  /** Counts of the days from `since` on, the newest day first, then by domain. */
  listTlsResults(
    args: { since: string; domain?: string | undefined; limit: number },
    now: number,
  ): Promise<TlsTally[]>
  /** Days from `since` to before `before`, and domains, that have results and no report yet; the oldest first. */
  dueTlsReports(
    args: { since: string; before: string; limit: number },
    now: number,
  ): Promise<{ day: string; domain: string }[]>
  /** All results of one domain and day. */
  tlsResultsOf(args: { day: string; domain: string }, now: number): Promise<TlsTally[]>
  /** Ends a report's being due. False, and nothing changed, when it was ended before: somebody else sends it. */
  saveTlsReport(args: TlsReportRecord, now: number): Promise<boolean>
  listTlsReports(args: { since: string; limit: number }, now: number): Promise<TlsReportRecord[]>
  /** Removes results and reports of days before `before`, and policies that have expired; returns how many rows. */
  purgeTlsResults(args: { before: string; most: number }, now: number): Promise<number>
}
