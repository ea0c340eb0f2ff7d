/** Numbers and texts of the metrics page, and searches for the emails behind them. Pure. */
import { toUnicodeDomains } from '../../../appliance/mail/idn.ts'
import type { MetricsBreakdown } from '../../../appliance/api/metrics.ts'
import type { Status } from './status.ts'
import { formatToken } from './email-search.ts'

export type Counts = Record<string, number>

/** A recommended maximum of a rate. */
export interface Limit {
  at: number
  words: string
}

/** A chart: how it derives its value from the counts of a period. */
export interface Measure {
  id: string
  title: string
  /** Unit of the number, or what the rate is a share of. */
  words: string
  /** The status that determines the color and icon. */
  status: Status
  /** Calculates the value; null if these counts don't contain it. */
  of: (counts: Counts) => number | null
  /** Whether the value is a share, from 0 to 1. */
  share: boolean
  limits: readonly Limit[]
  /** The event to search for to find the counted emails. */
  event: string
  /** The same event caused by bots, which rates don't include. */
  robots?: { of: (counts: Counts) => number; event: string }
}

const count = (
  id: string,
  title: string,
  status: Status,
  words: string,
  robots?: Measure['robots'],
): Measure => ({
  id,
  title,
  status,
  words,
  share: false,
  limits: [],
  event: id,
  of: (counts) => counts[id] ?? null,
  ...(robots && { robots }),
})

const byRobots = (event: string): Measure['robots'] => ({ event, of: (counts) => counts[event] ?? 0 })

/** Returns the number of sent emails or, if the breakdown doesn't count these, of final emails. */
export const countSentOrFinal = (counts: Counts): number =>
  counts.sent ?? (counts.delivered ?? 0) + (counts.bounced ?? 0) + (counts.failed ?? 0)

/** Returns a share of at most 1. Emails that were sent in one period may bounce in the next. */
export const computeShare = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.min(1, part / whole)

/**
 * Rates above which mailbox providers start to reject mail or file it as spam. The bounce rate is a common limit; the
 * complaint rates are those of Gmail and Yahoo.
 */
const BOUNCES_BAD = 0.04
const COMPLAINTS_WARNING = 0.001
const COMPLAINTS_BAD = 0.003

/** A headline number. */
export interface Total {
  event: 'sent' | 'delivered' | 'bounced' | 'complained'
  count: number
  /** The rate; null if there is none. */
  rate: number | null
  /** Unit of the number, or what the rate is a share of. */
  of: string
  /** Whether the rate exceeds a limit. */
  over: 'no' | 'warning' | 'bad'
}

/** Returns the headline numbers, which count recipients. */
export function computeTotals(counts: Counts): Total[] {
  const { delivered = 0, bounced = 0, complained = 0 } = counts
  const sent = countSentOrFinal(counts)
  const [bounces, complaints] = [computeShare(bounced, sent), computeShare(complained, delivered)]
  const over = (rate: number | null, warning: number, bad: number): Total['over'] =>
    rate === null || rate < warning ? 'no' : rate < bad ? 'warning' : 'bad'
  const total = (event: Total['event'], count: number, rate: number | null, of: string): Total => ({
    event,
    count,
    rate,
    of,
    over: 'no',
  })
  return [
    total('sent', sent, null, 'recipients'),
    total('delivered', delivered, computeShare(delivered, sent), 'of sent'),
    { ...total('bounced', bounced, bounces, 'of sent'), over: over(bounces, BOUNCES_BAD, BOUNCES_BAD) },
    {
      ...total('complained', complained, complaints, 'of delivered'),
      over: over(complaints, COMPLAINTS_WARNING, COMPLAINTS_BAD),
    },
  ]
}

/** The charts, in the order of the page. */
export const MEASURES: readonly Measure[] = [
  count('delivered', 'Delivered', 'delivered', 'recipients'),
  count('bounced', 'Bounced', 'bounced', 'recipients'),
  count('delivery_delayed', 'Delayed', 'delayed', 'times'),
  count('complained', 'Complained', 'complained', 'recipients'),
  count('opened', 'Opened', 'opened', 'times, excluding bots', byRobots('opened_by_robots')),
  count('clicked', 'Clicked', 'clicked', 'times, excluding bots', byRobots('clicked_by_robots')),
  {
    id: 'bounce_rate',
    title: 'Bounce rate',
    status: 'bounced',
    share: true,
    event: 'bounced',
    words: 'of sent',
    of: (counts) => computeShare(counts.bounced ?? 0, countSentOrFinal(counts)),
    limits: [{ at: BOUNCES_BAD, words: '4%: providers start to reject' }],
  },
  {
    id: 'complaint_rate',
    title: 'Complaint rate',
    status: 'complained',
    share: true,
    event: 'complained',
    words: 'of delivered',
    of: (counts) => computeShare(counts.complained ?? 0, counts.delivered ?? 0),
    limits: [
      { at: COMPLAINTS_WARNING, words: '0.1%: stay below' },
      { at: COMPLAINTS_BAD, words: '0.3%: mail goes to junk' },
    ],
  },
]

/** Formatters are slow to create, so each is created once. */
const [WHOLE, TENTHS, HUNDREDTHS] = [0, 1, 2].map(
  (digits) => new Intl.NumberFormat('en', { maximumFractionDigits: digits }),
) as [Intl.NumberFormat, Intl.NumberFormat, Intl.NumberFormat]

/** Formats a number with thousands separators, or a share in percent. */
export function formatFigure(value: number | null, asShare: boolean): string {
  if (value === null) return '–'
  if (!asShare) return WHOLE.format(value)
  return `${(value < 0.01 ? HUNDREDTHS : TENTHS).format(value * 100)}%`
}

/** Compares a number with the previous period: `↑ 19% vs. 821`. */
export function formatComparison(now: number | null, before: number | null, asShare: boolean): string {
  if (now === null || before === null) return before === null ? 'no previous data' : 'none'
  const was = formatFigure(before, asShare)
  if (now === before) return `same as previous period (${was})`
  if (before === 0 && !asShare) return 'none in the previous period'
  const arrow = now > before ? '↑' : '↓'
  if (asShare) {
    const points = HUNDREDTHS.format(Math.abs(now - before) * 100)
    return `${arrow} ${points} ${points === '1' ? 'point' : 'points'} vs. ${was}`
  }
  const percent = Math.round((Math.abs(now - before) / before) * 100)
  // "3×" is easier to grasp than "212% more".
  if (now >= before * 2) return `↑ ${TENTHS.format(now / before)}× vs. ${was}`
  return `${arrow} ${percent < 1 ? 'under 1' : percent}% vs. ${was}`
}

/** Filters of the metrics page. */
export interface PageFilters {
  domain?: string | null
  provider?: string | null
  tag?: string | null
  broadcast?: string | null
  bounce?: string | null
}

/** Returns the URL of exactly the emails whose `event` was counted in a period. */
export function getEmailsUrl(event: string, span: { start: number; end: number }, of: PageFilters): string {
  const iso = (at: number) => new Date(at).toISOString().replace(/:00\.000Z$/, 'Z')
  const words = [
    { key: 'event', value: event },
    { key: 'happened', value: `${iso(span.start)}..${iso(span.end)}` },
    ...(['domain', 'provider', 'tag', 'broadcast', 'bounce'] as const).flatMap((key) =>
      of[key] ? [{ key, value: of[key] }] : [],
    ),
  ]
  return `/emails?${new URLSearchParams({ q: words.map(formatToken).join(' ') })}`
}

/** Labels of bounce categories. */
const CATEGORY_WORDS: Record<string, string> = {
  recipient: 'Mailbox doesn’t exist or is closed',
  'mailbox-full': 'Mailbox full',
  policy: 'Blocked by a policy',
  reputation: 'Reputation of the sending IP or domain',
  content: 'Message content',
  size: 'Message too large',
  tls: 'Encryption (TLS)',
  dns: 'DNS records (theirs or ours)',
  network: 'Connections and timeouts',
  quota: 'Sending too much or too fast',
  temporary: 'Temporary server problem that lasted too long',
  undetermined: 'Unknown cause',
}

/** Returns the label of a row of a breakdown. */
export function getRowLabel(by: MetricsBreakdown['by'], row: MetricsBreakdown['data'][number]): string {
  const { value, name } = row
  if (value === null) return 'All others'
  if (by === 'bounce_category') return CATEGORY_WORDS[value] ?? value
  if (by === 'tag') return value.replace(':', ': ').replace(/: $/, ': (empty)')
  if (by === 'domain' && name !== null) return toUnicodeDomains(name)
  if (by === 'broadcast') return name ?? 'Deleted broadcast'
  if (by === 'domain') return value === '' ? 'Reports from this server' : 'Deleted domain'
  if (value === '') return 'Unknown'
  return name ?? (value.startsWith('?') ? `${value.slice(1)} (never looked up)` : value)
}

/**
 * Returns the numbers of the page as CSV (RFC 4180): one line per period, with the same period of the previous range
 * beside it.
 */
export function formatMetricsCsv(now: MetricsBreakdown, before: MetricsBreakdown): string {
  const { metrics } = now
  const head = ['period', ...metrics, 'period_before', ...metrics.map((name) => `${name}_before`)]
  const lines = now.data.map((row, i) => {
    const was = before.data[i]
    const numbers = (counts: Counts | undefined) => metrics.map((name) => counts?.[name] ?? '')
    return [row.value, ...numbers(row.counts), was?.value ?? '', ...numbers(was?.counts)]
  })
  return csvOf([head, ...lines])
}

const field = (value: string | number): string =>
  /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value)

const csvOf = (lines: readonly (readonly (string | number | null)[])[]): string =>
  lines.map((line) => `${line.map((value) => field(value ?? '')).join(',')}\r\n`).join('')

/** Returns a breakdown as CSV, one line per row, with the labels that the page shows. */
export function formatBreakdownCsv({ by, metrics, data }: MetricsBreakdown): string {
  const lines = data.map((row) => [
    row.value,
    getRowLabel(by, row),
    ...metrics.map((name) => row.counts[name] ?? ''),
  ])
  return csvOf([[by, 'name', ...metrics], ...lines])
}
