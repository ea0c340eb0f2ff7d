/** Summarizes in plain words who sends as a domain and whether they pass, from the rows of DMARC reports. Pure. */
import type { Disposition } from './dmarc-report.ts'
import type { DmarcRow } from './domain-report.ts'

/**
 * Kinds of sources. `own`: an IP of this server · `aligned`: another service whose mail passes · `forwarder`: its mail
 * passes only by signature · `service`: signs or sends under its own domain · `unknown`: none of its mail is
 * authenticated.
 */
export const SOURCE_KINDS = ['own', 'aligned', 'forwarder', 'service', 'unknown'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** All mail of one IP in a period. Counts are messages. */
export interface DmarcSource {
  ip: string
  kind: SourceKind
  messages: number
  /** Number of messages that passed DMARC by DKIM, SPF or both. */
  passed: number
  dkimAligned: number
  spfAligned: number
  dispositions: Record<Disposition, number>
  /** Domains of passing signatures and envelope senders, by number of messages; at most five. */
  dkimDomains: string[]
  spfDomains: string[]
  status: 'ok' | 'warning' | 'failed'
  verdict: string
  /** The recommended next step; null for none. */
  nextStep: string | null
}

/** Summarizes a domain's sources, by number of messages. @param own IPs of this server, in canonical form */
export function summarizeSources(
  domain: string,
  rows: readonly DmarcRow[],
  own: ReadonlySet<string>,
): DmarcSource[] {
  const byIp = Map.groupBy(rows, ({ sourceIp }) => sourceIp)
  return [...byIp]
    .map(([ip, of]) => sourceOf(domain, ip, of, own.has(ip)))
    .toSorted((a, b) => b.messages - a.messages || (a.ip < b.ip ? -1 : 1))
}

const count = (rows: readonly DmarcRow[], which: (row: DmarcRow) => boolean = () => true): number =>
  rows.filter(which).reduce((all, { messages }) => all + messages, 0)

function sourceOf(domain: string, ip: string, rows: readonly DmarcRow[], isOwn: boolean): DmarcSource {
  const dispositions: DmarcSource['dispositions'] = {
    none: 0,
    pass: 0,
    quarantine: 0,
    reject: 0,
    unknown: 0,
  }
  for (const { disposition, messages } of rows) dispositions[disposition] += messages
  const facts = {
    ip,
    messages: count(rows),
    passed: count(rows, ({ dkimAligned, spfAligned }) => dkimAligned || spfAligned),
    dkimAligned: count(rows, ({ dkimAligned }) => dkimAligned),
    spfAligned: count(rows, ({ spfAligned }) => spfAligned),
    dispositions,
    dkimDomains: topOf(rows, ({ dkimResult, dkimDomain }) => (dkimResult === 'pass' ? dkimDomain : '')),
    spfDomains: topOf(rows, ({ spfResult, spfDomain }) => (spfResult === 'pass' ? spfDomain : '')),
  }
  const kind = kindOf(facts, isOwn)
  return { ...facts, kind, ...judge(domain, kind, facts) }
}

type Facts = Omit<DmarcSource, 'kind' | 'status' | 'verdict' | 'nextStep'>

function topOf(rows: readonly DmarcRow[], domainOf: (row: DmarcRow) => string): string[] {
  const named = Map.groupBy(
    rows.filter((row) => domainOf(row) !== ''),
    domainOf,
  )
  return [...named]
    .toSorted(([, a], [, b]) => count(b) - count(a))
    .slice(0, 5)
    .map(([name]) => name)
}

/** Determines the kind of a source from the majority of its messages. */
function kindOf(facts: Facts, isOwn: boolean): SourceKind {
  if (isOwn) return 'own'
  if (facts.passed * 2 > facts.messages) return facts.spfAligned > 0 ? 'aligned' : 'forwarder'
  return facts.dkimDomains.length + facts.spfDomains.length > 0 ? 'service' : 'unknown'
}

type Verdict = Pick<DmarcSource, 'status' | 'verdict' | 'nextStep'>

function judge(domain: string, kind: SourceKind, facts: Facts): Verdict {
  const failed = facts.messages - facts.passed
  if (kind === 'own') return judgeOwn(domain, failed)
  if (kind === 'aligned') {
    const some = failed > 0 ? ` ${words(failed)} failed.` : ''
    return { status: 'ok', verdict: `May send for ${domain}, and passes DMARC.${some}`, nextStep: null }
  }
  if (kind === 'forwarder')
    return {
      status: 'ok',
      verdict: `Passes DMARC by the signature of ${domain} alone, as forwarded mail does.`,
      nextStep: null,
    }
  if (kind === 'service') return judgeService(domain, facts)
  return {
    status: 'failed',
    verdict: 'Neither SPF nor DKIM passes: forged mail, a broken forwarder, or a server that nobody set up.',
    nextStep: `If the server is yours, set up DKIM for ${domain} on it. If not, a policy of quarantine or reject stops its mail.`,
  }
}

const words = (messages: number): string => `${messages} ${messages === 1 ? 'message' : 'messages'}`

function judgeOwn(domain: string, failed: number): Verdict {
  if (failed === 0)
    return { status: 'ok', verdict: 'This server. All its mail passes DMARC.', nextStep: null }
  return {
    status: 'failed',
    verdict: `This server. ${words(failed)} failed DMARC.`,
    nextStep: `Check the DKIM and SPF records of ${domain}.`,
  }
}

function judgeService(domain: string, { dkimDomains, spfDomains }: Facts): Verdict {
  const signer = dkimDomains[0]
  const verdict =
    signer === undefined
      ? `Sends as ${spfDomains[0]}, without a DKIM signature of ${domain}.`
      : `Signs as ${signer}, not as ${domain}.`
  return {
    status: 'warning',
    verdict,
    nextStep: `If you use this service, set up DKIM for ${domain} there. If you don't, ignore it.`,
  }
}

/** The facts that the advice for a domain is based on. */
export interface DmarcPosture {
  /** The policy that reporters found last; empty when unknown. */
  policy: string
  /** UTC days with a report. */
  days: number
  messages: number
  passed: number
  sources: readonly DmarcSource[]
}

/** Days of reports required before a stricter policy is advised. */
const ENOUGH_DAYS = 14

/** Returns the next step for a domain, in a sentence. */
export function describeDmarcNextStep(
  domain: string,
  { policy, days, messages, sources }: DmarcPosture,
): string {
  if (messages === 0) return `Publish the record below. Reports arrive once a day for mail sent as ${domain}.`
  const own = sources.find(({ kind, status }) => kind === 'own' && status === 'failed')
  if (own) return `Fix the mail of this server first: ${own.ip} sent mail that failed DMARC.`
  const services = sources.filter(({ kind }) => kind === 'service')
  const theirs = services.reduce((all, one) => all + one.messages - one.passed, 0)
  if (theirs * 100 > messages)
    return 'Set up DKIM for each service that you use. Their mail fails DMARC, so a stricter policy would stop it.'
  if (policy === 'reject') return 'Nothing to do: receivers reject mail that fails DMARC.'
  if (days < ENOUGH_DAYS)
    return `Collect reports for ${ENOUGH_DAYS} days before you set a stricter policy. So far there are ${days}.`
  const stricter = policy === 'quarantine' ? 'reject' : 'quarantine'
  return `The mail of all known services passes. You can change the policy to p=${stricter}.`
}
