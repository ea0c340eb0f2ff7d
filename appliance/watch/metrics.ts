/** Prometheus metrics: counters and histograms of this process, and gauges that are read on each scrape. */
import { collectDefaultMetrics, Registry, type Histogram } from 'prom-client'
import type { Clock } from '../clock/clock.ts'
import { createGauges, type GaugeValues, createMetricFactory, type MetricFactory } from './gauges.ts'

export type { ClientUsage, GaugeValues } from './gauges.ts'

/** Records the events of other modules. Times are in seconds. */
export interface Instruments {
  httpAnswered(facts: { method: string; route: string; status: number; seconds: number }): void
  accepted(via: string, emails: number, recipients: number): void
  /** Records the time from when an email was first due until its first attempt. */
  waited(seconds: number): void
  settled(facts: { provider: string; state: string; seconds: number }): void
  attempted(seconds: number): void
  inFlight(provider: string, change: number): void
  /** Counts a blocklist lookup about a server that delivers mail. */
  blocklistAsked(zone: string, result: string): void
  /** Counts a check of a received message by the spam filter. */
  spamFilterAsked(result: string): void
  /** Counts a check of a received message by a milter. */
  milterAsked(milter: string, result: string): void
  /** Counts a query to our DNS server. */
  dnsQueried(transport: string, result: string): void
  webhookAttempted(success: boolean, seconds: number): void
  stored(method: string, seconds: number, failed: boolean): void
  /** Records that a recurring task succeeded, so that a monitor can detect when it stops succeeding. */
  succeeded(what: string): void
  /** Sets the function that returns the values of the gauges. */
  lookAt(look: () => Promise<GaugeValues>): void
  /** Returns the metrics in the Prometheus text format. */
  page(): Promise<{ type: string; text: string }>
  close(): void
}

export interface InstrumentsDeps {
  clock: Clock
  version: string
  /** Whether a provider has a series of its own; all others share `other`. */
  knownProvider: (id: string) => boolean
}

/** Histogram buckets in seconds. Accepting takes milliseconds, waiting may take days. */
const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LONG = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 345_600]
const LOOP = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]

/** How often the lag of the event loop is measured, in milliseconds. */
const LOOP_STEP = 100
/** Minimum time between counts of the queue, each of which reads the entire queue, in milliseconds. */
const LOOK_AGAIN = 10_000

const METHODS = new Set(['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'])

/** The methods of `Instruments` that record events. */
type Told = Omit<Instruments, 'lookAt' | 'page' | 'close'>

function createTold(series: MetricFactory, { clock, knownProvider }: InstrumentsDeps): Told {
  const { counter, gauge, histogram } = series
  const acceptedEmails = counter('accepted_emails_total', 'Emails accepted', ['via'])
  const acceptedRecipients = counter('accepted_recipients_total', 'Recipients of accepted emails', ['via'])
  const http = histogram(
    'http_request_seconds',
    'Request duration, from the first byte to the response',
    QUICK,
    [...(['method', 'route', 'status'] as const)],
  )
  const wait = histogram('queue_wait_seconds', 'Time from due to the first attempt', LONG)
  const delivery = histogram('delivery_seconds', 'Time from accepted to a final state', LONG, ['state'])
  const attempt = histogram('attempt_seconds', 'Duration of one conversation with a mail exchanger', LONG)
  const outcomes = counter('attempted_deliveries_total', 'Delivery attempts', ['state', 'provider'])
  const inFlight = gauge('deliveries_in_flight', 'Deliveries being attempted', ['provider'])
  const webhooks = histogram('webhook_attempt_seconds', 'Requests to webhooks', QUICK, ['outcome'])
  const calls = histogram('storage_call_seconds', 'Duration of storage calls; writes until durable', QUICK, [
    'method',
  ])
  const failures = counter('storage_failures_total', 'Storage calls that failed', ['method'])
  const successes = gauge('last_success_timestamp_seconds', 'Time of the last success', ['what'])
  const group = (provider: string): string => (knownProvider(provider) ? provider : 'other')
  return {
    httpAnswered: ({ method, route, status, seconds }) =>
      http.observe(
        { method: METHODS.has(method) ? method : 'other', route, status: `${Math.floor(status / 100)}xx` },
        seconds,
      ),
    accepted(via, emails, recipients) {
      acceptedEmails.inc({ via }, emails)
      acceptedRecipients.inc({ via }, recipients)
    },
    waited: (seconds) => wait.observe(Math.max(0, seconds)),
    settled({ provider, state, seconds }) {
      outcomes.inc({ state, provider: group(provider) })
      if (state !== 'waiting' && state !== 'held') delivery.observe({ state }, Math.max(0, seconds))
    },
    attempted: (seconds) => attempt.observe(Math.max(0, seconds)),
    inFlight: (provider, change) => inFlight.inc({ provider: group(provider) }, change),
    ...createInboundTold(series),
    webhookAttempted: (success, seconds) =>
      webhooks.observe({ outcome: success ? 'success' : 'failure' }, seconds),
    stored(method, seconds, failed) {
      calls.observe({ method }, seconds)
      if (failed) failures.inc({ method })
    },
    succeeded: (what) => successes.set({ what }, clock.now() / 1000),
  }
}

/** Creates the counters for checks of received mail and for DNS queries. */
function createInboundTold({
  counter,
}: MetricFactory): Pick<Told, 'blocklistAsked' | 'spamFilterAsked' | 'milterAsked' | 'dnsQueried'> {
  const lookups = 'Blocklist lookups about servers that deliver mail'
  const blocklists = counter('inbound_blocklist_total', lookups, ['zone', 'result'])
  const judged = 'Received messages that the spam filter was asked about'
  const spamFilter = counter('inbound_spam_filter_total', judged, ['result'])
  const filtered = 'Received messages that a milter was asked about'
  const milters = counter('inbound_milter_total', filtered, ['milter', 'result'])
  const asked = 'Queries to the DNS server'
  const queries = counter('dns_queries_total', asked, ['transport', 'result'])
  return {
    dnsQueried: (transport, result) => queries.inc({ transport, result }),
    blocklistAsked: (zone, result) => blocklists.inc({ zone, result }),
    spamFilterAsked: (result) => spamFilter.inc({ result }),
    milterAsked: (milter, result) => milters.inc({ milter, result }),
  }
}

/** Measures the lag of the event loop every `LOOP_STEP`. Returns a function that stops it. */
function watchLoop(delays: Histogram): () => void {
  let due = performance.now() + LOOP_STEP
  const ticking = setInterval(() => {
    const now = performance.now()
    delays.observe(Math.max(0, now - due) / 1000)
    due = now + LOOP_STEP
  }, LOOP_STEP).unref()
  return () => clearInterval(ticking)
}

/**
 * Creates the metrics. Label values come from small sets (routes, states, providers in the table), and never identify a
 * recipient.
 */
export function createInstruments(deps: InstrumentsDeps): Instruments {
  const { clock, version, knownProvider } = deps
  const registry = new Registry()
  const series = createMetricFactory(registry)
  collectDefaultMetrics({ register: registry })
  series.gauge('info', 'The running program', ['version']).set({ version }, 1)
  const show = createGauges(series, knownProvider)
  const stopLoop = watchLoop(series.histogram('event_loop_delay_seconds', 'Event loop delay', LOOP))

  let look: (() => Promise<GaugeValues>) | undefined
  let lookedAt = -Infinity
  let looking: Promise<void> | undefined
  const refresh = async (): Promise<void> => {
    if (!look || clock.now() - lookedAt < LOOK_AGAIN) return
    looking ??= look()
      .then(show)
      .finally(() => {
        looking = undefined
        lookedAt = clock.now()
      })
    await looking
  }
  return {
    ...createTold(series, deps),
    lookAt: (how) => void (look = how),
    async page() {
      await refresh()
      return { type: registry.contentType, text: await registry.metrics() }
    },
    close() {
      stopLoop()
      registry.clear()
    },
  }
}
