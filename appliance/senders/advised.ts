/**
 * Optional records of a domain. They are looked up and shown with the required ones, but nothing depends on them: their
 * content is up to the domain's owner.
 */
import type { Resolver } from '../dns/dns.ts'
import type { Domain, RecordStatus } from '../storage/storage.ts'
import type { ExpectedRecord } from './records.ts'
import { reverseDnsOf, type ReverseDns, type SourcesAndPools } from './reverse-dns.ts'
import type { RecordOpinion } from './verification.ts'

/** RFC 8461 §3.1, RFC 8460 §3, and the draft for BIMI (default selector). */
const ADVISED = [
  { name: 'MTA-STS', label: '_mta-sts', version: /^v=STSv1\s*(;|$)/ },
  { name: 'TLS-RPT', label: '_smtp._tls', version: /^v=TLSRPTv1\s*(;|$)/ },
  { name: 'BIMI', label: 'default._bimi', version: /^v=BIMI1\s*(;|$)/i },
] as const

/** The status of one aspect of a domain. `pending`: there is no such record. */
export interface Light extends ReverseDns {
  name: 'SPF' | 'DKIM' | 'DMARC' | (typeof ADVISED)[number]['name'] | 'PTR'
}

/** Whether a check is of an optional record. */
export const isAdvised = (key: string): boolean => ADVISED.some(({ name }) => name === key)

/**
 * Looks up all of them in parallel, except those that are among the expected records. Never throws because of DNS.
 */
export function lookForAdvised(
  resolver: Resolver,
  domain: string,
  expected: readonly Pick<ExpectedRecord, 'key'>[] = [],
): Promise<RecordOpinion[]> {
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

/** Several records count as none (RFC 8461 §3.1, RFC 8460 §3). */
function statusOf(unanswered: boolean, count: number): RecordStatus {
  if (unanswered) return 'temporary_failure'
  return count === 0 ? 'pending' : count === 1 ? 'verified' : 'failed'
}

/** Statuses by severity: the first one among records of the same name counts. */
const WORST: readonly RecordStatus[] = ['failed', 'pending', 'temporary_failure', 'not_started', 'verified']

/**
 * Returns the status lights of a domain from its last checks and the last checks of its sending IPs. DKIM passes with
 * one key published, because mail is signed with that key. A light has a note when no record of the domain would
 * explain it.
 */
export function lightsOf(domain: Pick<Domain, 'id' | 'teamId' | 'checks'>, ways: SourcesAndPools): Light[] {
  const checks = (kind: string) =>
    domain.checks.filter(({ key }) => key === kind || key.startsWith(`${kind} `))
  const worst = (statuses: RecordStatus[]): RecordStatus =>
    WORST.find((status) => statuses.includes(status)) ?? 'not_started'
  const of = (name: Light['name']): Light => {
    const statuses = checks(name).map(({ status }) => status)
    const one = name === 'DKIM' && statuses.includes('verified')
    return { name, status: one ? 'verified' : worst(statuses), note: null }
  }
  return [
    of('SPF'),
    of('DKIM'),
    of('DMARC'),
    ...ADVISED.map(({ name }) => ({ ...of(name), note: checks(name)[0]?.note ?? null })),
    { name: 'PTR', ...reverseDnsOf(domain, ways) },
  ]
}
