/**
 * Optional records of a domain. They are looked up and shown with the required ones, but nothing depends on them: the
 * domain's owner decides on their content.
 */
import type { Resolver } from '../dns/dns.ts'
import type { Domain, RecordStatus } from '../storage/storage.ts'
import type { ExpectedRecord } from './records.ts'
import { combineReverseDns, type ReverseDns, type SourcesAndPools } from './reverse-dns.ts'
import type { RecordResult } from './verification.ts'

/** The optional records: MTA-STS (RFC 8461 §3.1), TLS-RPT (RFC 8460 §3), and BIMI (draft, default selector). */
const ADVISED = [
  { name: 'MTA-STS', label: '_mta-sts', version: /^v=STSv1\s*(;|$)/ },
  { name: 'TLS-RPT', label: '_smtp._tls', version: /^v=TLSRPTv1\s*(;|$)/ },
  { name: 'BIMI', label: 'default._bimi', version: /^v=BIMI1\s*(;|$)/i },
] as const

/** The status of one aspect of a domain. `pending` means that there is no such record. */
export interface StatusLight extends ReverseDns {
  name: 'SPF' | 'DKIM' | 'DMARC' | (typeof ADVISED)[number]['name'] | 'PTR'
}

/** Whether a check is about an optional record. */
export const isOptionalCheck = (key: string): boolean => ADVISED.some(({ name }) => name === key)

/**
 * Looks up all optional records in parallel, except those that are among the expected records. DNS errors never make it
 * throw.
 */
export function lookUpOptionalRecords(
  resolver: Resolver,
  domain: string,
  expected: readonly Pick<ExpectedRecord, 'key'>[] = [],
): Promise<RecordResult[]> {
  const others = ADVISED.filter(({ name }) => !expected.some(({ key }) => key === name))
  return Promise.all(
    others.map(async ({ name, label, version }) => {
      const answer = await resolver.resolve(`${label}.${domain}`, 'TXT')
      const texts = answer.kind === 'found' ? answer.records : []
      const found = texts.filter((text) => version.test(text))
      const status = statusOf(answer.kind === 'failed', found.length)
      const note = `There are ${found.length} such records at ${label}.${domain}, so receivers ignore all of them. Keep one.`
      return { key: name, status, found, note: status === 'failed' ? note : null }
    }),
  )
}

/** Receivers ignore several records of the same kind (RFC 8461 §3.1, RFC 8460 §3), so they count as failed. */
function statusOf(unanswered: boolean, count: number): RecordStatus {
  if (unanswered) return 'temporary_failure'
  return count === 0 ? 'pending' : count === 1 ? 'verified' : 'failed'
}

/** Statuses by severity. The most severe status among records of the same name counts. */
const WORST: readonly RecordStatus[] = ['failed', 'pending', 'temporary_failure', 'not_started', 'verified']

/**
 * Returns the status lights of a domain from its last checks and the last checks of its sending IPs. DKIM passes if one
 * key is published, because mail is signed with that key. A light has a note if none of the domain's records would
 * explain it.
 */
export function computeStatusLights(
  domain: Pick<Domain, 'id' | 'teamId' | 'region' | 'checks'>,
  ways: SourcesAndPools,
): StatusLight[] {
  const checks = (kind: string) =>
    domain.checks.filter(({ key }) => key === kind || key.startsWith(`${kind} `))
  const worst = (statuses: RecordStatus[]): RecordStatus =>
    WORST.find((status) => statuses.includes(status)) ?? 'not_started'
  const of = (name: StatusLight['name']): StatusLight => {
    const statuses = checks(name).map(({ status }) => status)
    const one = name === 'DKIM' && statuses.includes('verified')
    return { name, status: one ? 'verified' : worst(statuses), note: null }
  }
  return [
    of('SPF'),
    of('DKIM'),
    of('DMARC'),
    ...ADVISED.map(({ name }) => ({ ...of(name), note: checks(name)[0]?.note ?? null })),
    { name: 'PTR', ...combineReverseDns(domain, ways) },
  ]
}
