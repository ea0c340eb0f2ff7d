/** The metrics and what they are computed from (reference: wire format §2.2). Pure. */

/** Counts: the metric's name, and the counters it sums. */
const COUNTS = {
  received: ['received'],
  delivered: ['delivered'],
  complained: ['complained'],
  suppressed: ['suppressed'],
  bounced: ['bounced_permanent', 'bounced_transient', 'bounced_undetermined'],
  bounced_transient: ['bounced_transient'],
  bounced_permanent: ['bounced_permanent'],
  bounced_undetermined: ['bounced_undetermined'],
  opened: ['opened'],
  clicked: ['clicked'],
  unsubscribed: ['unsubscribed'],
  delivery_delayed: ['delivery_delayed'],
  failed: ['failed'],
  sent: ['sent'],
  unique_opened: ['unique_opened'],
  unique_clicked: ['unique_clicked'],
} as const

/** Rates: numerator and denominator. */
const RATES = {
  delivery_rate: ['delivered', 'sent'],
  open_rate: ['unique_opened', 'delivered'],
  click_rate: ['unique_clicked', 'delivered'],
  bounce_rate: ['bounced', 'sent'],
  complaint_rate: ['complained', 'delivered'],
  unsubscribe_rate: ['unsubscribed', 'delivered'],
} as const

type Count = keyof typeof COUNTS
type Rate = keyof typeof RATES
export type Metric = Count | Rate

/** All metrics in API order. */
export const METRICS = [...Object.keys(COUNTS), ...Object.keys(RATES)] as readonly Metric[]

/** Counts by name of the counter. */
export type Counters = ReadonlyMap<string, number>

const count = (name: Count, counters: Counters): number =>
  COUNTS[name].reduce((sum, counter) => sum + (counters.get(counter) ?? 0), 0)

const isRate = (name: Metric): name is Rate => name in RATES

/**
 * Computes a rate from 0 to 1, to six decimals. Capped at 1, because mail sent in one period may arrive in the next.
 */
function rate(name: Rate, counters: Counters): number {
  const [part, whole] = RATES[name].map((one) => count(one, counters)) as [number, number]
  return whole === 0 ? 0 : Math.round(Math.min(1, part / whole) * 1e6) / 1e6
}

/** Computes the requested metrics. */
export function computeMetrics(names: readonly Metric[], counters: Counters): Record<string, number> {
  return Object.fromEntries(
    names.map((name) => [name, isRate(name) ? rate(name, counters) : count(name, counters)]),
  )
}
