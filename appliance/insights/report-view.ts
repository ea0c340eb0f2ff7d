/**
 * Explains the DMARC and TLS reports of a period for a domain, with this server's addresses, DNS records and reverse
 * DNS.
 */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { describeDmarcNextStep, summarizeSources, type DmarcSource } from '../mail/dmarc-summary.ts'
import type { DmarcRow, TlsRow } from '../mail/domain-report.ts'
import { refuse } from '../mail/refusals.ts'
import { buildDmarcValue, buildReportAddress, buildTlsRptValue } from '../mail/report-address.ts'
import { AUTO_IP } from '../mail/source.ts'
import { summarizeTls, describeTlsNextStep, type TlsSummary } from '../mail/tls-summary.ts'
import { buildPtrName } from '../dns/reverse.ts'
import type { Domain, DomainReport, ReportDay, Storage } from '../storage/storage.ts'
import { normalizeIp } from '../wire/networks.ts'

export interface ReportViewDeps {
  storage: Pick<
    Storage,
    'sumDmarc' | 'sumTls' | 'domainReportDays' | 'listDomainReports' | 'getDomainReport' | 'listSources'
  >
  resolver: Pick<Resolver, 'resolve'>
  clock: Clock
  /** Host name. Its addresses are used as the sending IPs if the system chooses those. */
  hostname: string
}

/** Common fields of both views. Times in Unix milliseconds. */
interface View {
  domain: Domain
  since: number
  until: number
  /** The DNS record to publish. `published`: whether the last check found the address. */
  record: { name: string; value: string; address: string; published: boolean }
  nextStep: string
  days: ReportDay[]
}

/** A report with its data by source or failure, and reverse DNS of the addresses. */
interface ExplainedReport {
  report: DomainReport & { dmarc: DmarcRow[]; tls: TlsRow[] }
  sources: DmarcSource[]
  failures: TlsSummary['failures']
  names: Map<string, string>
}

export interface ReportView {
  /**
   * Summarizes which servers send as the domain, and whether their mail passes. Includes reverse DNS of the largest
   * sources, as far as DNS responds in time.
   */
  dmarc(
    domain: Domain,
    days?: number,
  ): Promise<{
    head: View & { policy: string; messages: number; passed: number; sources: DmarcSource[] }
    names: Map<string, string>
  }>
  /** Summarizes how other servers reach the domain over TLS. */
  tls(domain: Domain, days?: number): Promise<View & { summary: TlsSummary }>
  /** Explains one report. @throws Refusal `not_found` */
  report(domain: Domain, id: string): Promise<ExplainedReport>
}

const DAY = 86_400_000
const DEFAULT_DAYS = 30
/** Maximum number of sources shown, and of sources looked up in DNS. */
const MOST_SOURCES = 500
const MOST_NAMES = 20
/** Time limit for all look-ups together, in milliseconds. */
const NAMES_MS = 1500

export function createReportView(deps: ReportViewDeps): ReportView {
  const { storage, clock } = deps

  /** Returns the period, its days, and whether the domain requests reports. */
  async function open(domain: Domain, kind: 'dmarc' | 'tls', days: number) {
    const until = clock.now()
    const since = Math.floor(until / DAY) * DAY - (days - 1) * DAY
    const period = { teamId: domain.teamId, domainId: domain.id, since, until }
    const counted = await storage.domainReportDays({ ...period, kind }, until)
    return { period, view: { domain, since, until, record: recordOf(domain, kind), days: counted } }
  }

  return {
    async dmarc(domain, days = DEFAULT_DAYS) {
      const { period, view } = await open(domain, 'dmarc', days)
      const [rows, own, newest] = await Promise.all([
        storage.sumDmarc(period, view.until),
        ownAddresses(deps),
        storage.listDomainReports({ ...period, kind: 'dmarc', limit: 1 }, view.until),
      ])
      const all = summarizeSources(domain.name, rows, own)
      const counts = {
        policy: newest.items[0]?.policy?.p ?? '',
        messages: sum(view.days, ({ total }) => total),
        passed: sum(view.days, ({ total, failed }) => total - failed),
      }
      const posture = { ...counts, days: new Set(view.days.map(({ day }) => day)).size, sources: all }
      const sources = all.slice(0, MOST_SOURCES)
      const nextStep = awaited(view, counts.messages) ?? describeDmarcNextStep(domain.name, posture)
      const names = await namesOf(sources.slice(0, MOST_NAMES), deps)
      return { head: { ...view, ...counts, sources, nextStep }, names }
    },

    async tls(domain, days = DEFAULT_DAYS) {
      const { period, view } = await open(domain, 'tls', days)
      const summary = summarizeTls(await storage.sumTls(period, view.until))
      return { ...view, summary, nextStep: awaited(view, summary.sessions) ?? describeTlsNextStep(summary) }
    },

    async report(domain, id) {
      const which = { teamId: domain.teamId, domainId: domain.id, id }
      const report = await storage.getDomainReport(which, clock.now())
      if (!report) throw refuse('not_found', { resource: 'Report' })
      const sources = summarizeSources(domain.name, report.dmarc, await ownAddresses(deps))
      const names = await namesOf(sources.slice(0, MOST_NAMES), deps)
      return { report, sources, names, failures: summarizeTls(report.tls).failures }
    },
  }
}

/** Returns advice if the record is published but no report has arrived; otherwise undefined. */
const awaited = ({ record }: Pick<View, 'record'>, total: number): string | undefined =>
  total === 0 && record.published
    ? 'Wait: the record is published, and reports arrive once a day.'
    : undefined

const sum = (days: readonly ReportDay[], of: (day: ReportDay) => number): number =>
  days.reduce((all, day) => all + of(day), 0)

function recordOf(domain: Domain, kind: 'dmarc' | 'tls'): View['record'] {
  const address = buildReportAddress(domain)
  const key = kind === 'dmarc' ? 'DMARC' : 'TLS-RPT'
  const published = domain.checks.some(
    (check) => check.key === key && check.found.some((text) => text.toLowerCase().includes(address)),
  )
  const name = `${kind === 'dmarc' ? '_dmarc' : '_smtp._tls'}.${domain.name}`
  return {
    name,
    value: kind === 'dmarc' ? buildDmarcValue(domain) : buildTlsRptValue(domain),
    address,
    published,
  }
}

/**
 * Returns this server's sending IPs, and the addresses of its host name, which receivers see behind NAT or if the
 * system chooses the IP.
 */
async function ownAddresses({ storage, clock, resolver, hostname }: ReportViewDeps): Promise<Set<string>> {
  const sources = await storage.listSources({}, clock.now())
  const named = sources.filter(({ ip }) => ip !== AUTO_IP).map(({ ip }) => ip)
  const answers = await withDeadline(
    Promise.all([resolver.resolve(hostname, 'A'), resolver.resolve(hostname, 'AAAA')]),
    clock,
  )
  const addresses = (answers ?? []).flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
  return new Set([...named, ...addresses].map((ip) => normalizeIp(ip) ?? ip))
}

/** Looks up reverse DNS by address; omits late responses. */
async function namesOf(
  sources: readonly DmarcSource[],
  { resolver, clock }: ReportViewDeps,
): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const lookUps = sources.map(async ({ ip }) => {
    const answer = await resolver.resolve(buildPtrName(ip), 'PTR')
    const name = answer.kind === 'found' ? answer.records[0] : undefined
    if (name !== undefined) names.set(ip, name)
  })
  await withDeadline(Promise.all(lookUps), clock)
  return new Map(names)
}

/** Resolves to the result, or to undefined when time is up. */
async function withDeadline<T>(work: Promise<T>, clock: Clock): Promise<T | undefined> {
  let cancel: () => void = () => undefined
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(NAMES_MS, () => resolve(undefined))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}
