/**
 * Records that a domain may have beside those that are asked for. They are looked for with the others and shown, and nothing
 * depends on them: what they say is the domain owner's own affair.
 */
import type { Resolver } from '../dns/dns.ts'
import type { Domain, RecordStatus } from '../storage/storage.ts'
import { reverseDnsOf, type ReverseDns, type WaysOut } from './reverse-dns.ts'
import type { RecordOpinion } from './verification.ts'

/** RFC 8461 §3.1, RFC 8460 §3, and the draft of the BIMI group (default selector). */
const ADVISED = [
  { name: 'MTA-STS', label: '_mta-sts', version: /^v=STSv1\s*(;|$)/ },
  { name: 'TLS-RPT', label: '_smtp._tls', version: /^v=TLSRPTv1\s*(;|$)/ },
  { name: 'BIMI', label: 'default._bimi', version: /^v=BIMI1\s*(;|$)/i },
] as const

/** What is known of a domain at a glance. `pending`: there is no such record. */
export interface Light extends ReverseDns {
  name: 'SPF' | 'DKIM' | 'DMARC' | (typeof ADVISED)[number]['name'] | 'PTR'
}

/** Whether this check is of a record that nobody asked for. */
export const isAdvised = (key: string): boolean => ADVISED.some(({ name }) => name === key)

/** Looks for all of them, at once. Never throws for what DNS does. */
export function lookForAdvised(resolver: Resolver, domain: string): Promise<RecordOpinion[]> {
  return Promise.all(
    ADVISED.map(async ({ name, label, version }) => {
      const answer = await resolver.resolve(`${label}.${domain}`, 'TXT')
      const texts = answer.kind === 'found' ? answer.records : []
      const found = texts.filter((text) => version.test(text))
      const status = statusOf(answer.kind === 'failed', found.length)
      const note = `There are ${found.length} such records at ${label}.${domain}, so receivers ignore all of them. Keep one.`
      return { key: name, status, found, note: status === 'failed' ? note : null }
    }),
  )
}

/** Of several records those who read them take none (RFC 8461 §3.1, RFC 8460 §3). */
function statusOf(unanswered: boolean, count: number): RecordStatus {
  if (unanswered) return 'temporary_failure'
  return count === 0 ? 'pending' : count === 1 ? 'verified' : 'failed'
}

/** In this order the state of a record decides for others of the same name. */
const WORST: readonly RecordStatus[] = ['failed', 'pending', 'temporary_failure', 'not_started', 'verified']

/**
 * The lights of a domain, by its last checks and the last looks at the sources of its mail. DKIM is right with one key in place:
 * mail is signed with that one. A light has a note where no record of the domain would say what is wrong.
 */
export function lightsOf(domain: Pick<Domain, 'id' | 'teamId' | 'checks'>, ways: WaysOut): Light[] {
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
    ...[of('SPF'), of('DKIM'), of('DMARC')],
    ...ADVISED.map(({ name }) => ({ ...of(name), note: checks(name)[0]?.note ?? null })),
    { name: 'PTR', ...reverseDnsOf(domain, ways) },
  ]
}
