/** Collects the reputation of domains and sending IPs from stored counts, checks and the audit log. Uses no DNS. */
import type { Clock } from '../clock/clock.ts'
import { breakDownInChunks, sumInChunks } from '../events/metrics.ts'
import type { AuditEntry } from '../mail/audit.ts'
import { describeAction } from '../mail/audit-sentence.ts'
import type { Finding } from '../mail/finding.ts'
import type { ProviderRules } from '../mail/provider-rules.ts'
import {
  computeComplaintLimits,
  computeComplaintRate,
  formatDay,
  listDays,
  findRecordChanges,
  sumCounts,
  findVolumeChanges,
  type ComplaintLimit,
  type ReputationChange,
  type ReputationCounts,
  type ReputationDay,
} from '../mail/reputation.ts'
import type { Source } from '../mail/source.ts'
import { DEFAULT_PROVIDER } from '../shaping/shaping.ts'
import {
  QUARTER_HOUR_MS,
  startOfQuarterHour,
  type Domain,
  type ReportDay,
  type Storage,
} from '../storage/storage.ts'

type ProviderCounts = ReputationCounts & { provider: string | null }

export interface DomainReputation {
  domain: Domain
  /** Every day of the period, oldest first. */
  days: ReputationDay[]
  totals: ReputationCounts
  /** Results of the last 7 days, largest first; a null `provider` stands for all other providers. */
  providers: ProviderCounts[]
  /** Complaints of the last 7 days, as in the provider rules. */
  complaints: { delivered: number; complained: number; rate: number; limits: ComplaintLimit[] }
  /** Number of messages in DMARC reports and of sessions in TLS reports of the period, and how many failed. */
  reports: Record<'dmarc' | 'tls', { total: number; failed: number }>
  /** Newest first. */
  changes: ReputationChange[]
}

/** Complaints aren't counted by IP, so they are 0 in `days`, `totals` and `providers`. */
export interface SourceReputation {
  source: Source
  /** Every day of the period, oldest first. */
  days: ReputationDay[]
  totals: ReputationCounts
  /**
   * Results of the period, largest first; a null `provider` stands for all providers that aren't in the provider table.
   */
  providers: ProviderCounts[]
  /** Findings of the last blocklist check. */
  blocklists: Finding[]
  /** Newest first. */
  changes: ReputationChange[]
}

export interface ReputationView {
  /**
   * Returns the reputation of a domain.
   * @param days length of the period up to now; default 30
   */
  domain(domain: Domain, days?: number): Promise<DomainReputation>
  /**
   * Returns the reputation of an IP, including all teams' mail.
   * @param days length of the period up to now; default 30
   */
  source(source: Source, days?: number): Promise<SourceReputation>
}

export interface ReputationDeps {
  storage: Pick<
    Storage,
    'metricsSummed' | 'sumMetrics' | 'breakDownMetrics' | 'domainReportDays' | 'listAudit' | 'listLaneDays'
  >
  clock: Clock
  /** Returns the current rules. Called each time, because the rules can be replaced. */
  rules: () => ProviderRules
}

const DAY = 86_400_000
const DEFAULT_DAYS = 30
/**
 * Number of days shown by provider. There are no sums by domain and provider, so these counts are read from quarter
 * hours. For a longer period of a large team, that would take too long.
 */
const PROVIDER_DAYS = 7
const MOST_PROVIDERS = 20
/** Maximum number of audit log entries. */
const MOST_ACTS = 100

export function createReputationView(deps: ReputationDeps): ReputationView {
  const { storage, clock, rules } = deps
  return {
    async domain(domain, count = DEFAULT_DAYS) {
      const now = clock.now()
      const starts = listDays(now, count)
      const period = { teamId: domain.teamId, domainId: domain.id, since: starts[0]!, until: now }
      const days = await resultsByDay(storage, domain, starts, now)
      const providers = await resultsByProvider(storage, domain, now)
      const { delivered, complained } = sumCounts(providers)
      const limits = computeComplaintLimits({ delivered, complained }, rules())
      const changes = [
        ...(await actsOn(storage, { ...period, target: `domain ${domain.id}` }, now)),
        ...findRecordChanges(domain.checks, period.since),
        ...findVolumeChanges(days),
      ]
      return {
        domain,
        days,
        totals: sumCounts(days),
        providers,
        complaints: { delivered, complained, rate: computeComplaintRate({ delivered, complained }), limits },
        reports: {
          dmarc: totalOf(await storage.domainReportDays({ ...period, kind: 'dmarc' }, now)),
          tls: totalOf(await storage.domainReportDays({ ...period, kind: 'tls' }, now)),
        },
        changes: newestFirst(changes),
      }
    },
    source: (source, count = DEFAULT_DAYS) => sourceReputation(storage, source, count, clock.now()),
  }
}

async function sourceReputation(
  storage: ReputationDeps['storage'],
  source: Source,
  count: number,
  now: number,
): Promise<SourceReputation> {
  const starts = listDays(now, count)
  const since = starts[0]!
  const rows = await storage.listLaneDays({ source: source.ip, since: formatDay(since) }, now)
  const counted = rows.map(({ day, provider, delivered, bounced, deferred }) => ({
    day,
    provider: provider === DEFAULT_PROVIDER ? null : provider,
    delivered,
    bounced,
    deferred,
    complained: 0,
  }))
  const byDate = Map.groupBy(counted, ({ day }) => day)
  const days = starts.map(formatDay).map((date) => ({ date, ...sumCounts(byDate.get(date) ?? []) }))
  const providers = [...Map.groupBy(counted, ({ provider }) => provider)]
  const acts = await actsOn(storage, { target: `source ${source.ip}`, since }, now)
  return {
    source,
    days,
    totals: sumCounts(days),
    providers: largestFirst(providers.map(([provider, some]) => ({ provider, ...sumCounts(some) }))),
    blocklists: source.health?.findings.filter(({ id }) => id.startsWith('blocklist')) ?? [],
    changes: newestFirst([...acts, ...findVolumeChanges(days)]),
  }
}

/** Sorts providers by their number of results, with the row of all others last. */
function largestFirst(rows: readonly ProviderCounts[]): ProviderCounts[] {
  const size = (row: ReputationCounts): number => row.delivered + row.bounced + row.deferred
  return rows.toSorted(
    (a, b) => Number(a.provider === null) - Number(b.provider === null) || size(b) - size(a),
  )
}

const newestFirst = (changes: readonly ReputationChange[]): ReputationChange[] =>
  changes.toSorted((a, b) => b.at - a.at)

/** The field that each event counter adds to. */
const FIELDS: Readonly<Record<string, keyof ReputationCounts>> = {
  delivered: 'delivered',
  complained: 'complained',
  delivery_delayed: 'deferred',
  bounced_permanent: 'bounced',
  bounced_transient: 'bounced',
  bounced_undetermined: 'bounced',
}

function countsOf(sums: readonly { counter: string; n: number }[]): ReputationCounts {
  const counts = sumCounts([])
  for (const { counter, n } of sums) {
    const field = FIELDS[counter]
    if (field !== undefined) counts[field] += n
  }
  return counts
}

async function resultsByDay(
  storage: ReputationDeps['storage'],
  { teamId, id }: Domain,
  starts: readonly number[],
  now: number,
): Promise<ReputationDay[]> {
  const ranges = starts.map((start) => ({ start, end: start + DAY }))
  const sums = await sumInChunks(storage, { teamId, domainIds: [id], ranges, together: true }, now)
  const byStart = Map.groupBy(sums, ({ start }) => start)
  return starts.map((start) => ({ date: formatDay(start), ...countsOf(byStart.get(start) ?? []) }))
}

async function resultsByProvider(
  storage: ReputationDeps['storage'],
  { teamId, id }: Domain,
  now: number,
): Promise<DomainReputation['providers']> {
  const end = startOfQuarterHour(now) + QUARTER_HOUR_MS
  const range = { start: end - PROVIDER_DAYS * DAY, end }
  const asked = { teamId, domainIds: [id], range, by: 'provider' as const, counters: Object.keys(FIELDS) }
  const sums = await breakDownInChunks(storage, { ...asked, most: MOST_PROVIDERS }, now)
  const rows = [...Map.groupBy(sums, ({ value }) => value)].map(([provider, some]) => ({
    provider,
    ...countsOf(some),
  }))
  return largestFirst(rows)
}

const totalOf = (days: readonly ReportDay[]): { total: number; failed: number } => ({
  total: days.reduce((sum, { total }) => sum + total, 0),
  failed: days.reduce((sum, { failed }) => sum + failed, 0),
})

/** Lists people's actions on an object. Leaves out their names, because not everyone may read the audit log. */
async function actsOn(
  storage: ReputationDeps['storage'],
  { teamId, target, since }: { teamId?: string; target: string; since: number },
  now: number,
): Promise<ReputationChange[]> {
  const { items } = await storage.listAudit({ teamId, target, since, limit: MOST_ACTS }, now)
  return items
    .filter(hasChanged)
    .map((entry) => ({ at: entry.at, kind: 'setting', note: describeAction(entry) }))
}

/** Whether an entry's action changed something. Refused and unfinished actions didn't, and checks never do. */
function hasChanged({ action, after }: AuditEntry): boolean {
  const done = after !== null && !(typeof after === 'object' && 'refused' in after)
  return done && action !== 'domain.verify'
}
