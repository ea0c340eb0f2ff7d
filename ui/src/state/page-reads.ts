/** The first requests of each page, by address, used to preload them. The cache keys are the same as in the pages. */
import {
  getDomain,
  getEmail,
  getLog,
  getTimeline,
  listApiKeys,
  listDomains,
  listSandboxMessages,
  listWebhooks,
} from '../api/calls.ts'
import { listEmailSuppressions, searchEmails } from '../api/emails.ts'
import { getMetricsBreakdown } from '../api/metrics.ts'
import type { PreloadRequest } from './preload.ts'
import { clock } from './clock.svelte.ts'
import { CHUNK_ROWS } from './email-rows.ts'
import { getCacheKey, parseDimension, buildMetricsQuery, loadCharts } from './metrics-read.ts'
import { computeSpan } from './metrics-range.ts'
import { utc } from './remembered.svelte.ts'

type Reads = (query: URLSearchParams, id: string) => PreloadRequest[]

/** Loads the newest emails. Searches aren't preloaded: the page reports their errors. */
export const emailListReads: Reads = (query) =>
  query.has('q')
    ? []
    : [
        {
          key: `emails ${utc.value} `,
          load: () => searchEmails({}, null, CHUNK_ROWS, new AbortController().signal),
        },
      ]

export const emailReads: Reads = (_query, id) => [
  { key: `timeline ${id}`, load: () => getTimeline(id) },
  { key: `email ${id}`, load: () => getEmail(id) },
  { key: `suppressions of ${id}`, load: () => listEmailSuppressions(id) },
]

/** Runs `act` after `first` has settled. */
const after = <T>(first: Promise<unknown>, act: () => Promise<T>): Promise<T> =>
  first.catch(() => undefined).then(act)

/**
 * Loads the charts, then the table below them, so that the server responds in the order shown. Doesn't preload the
 * domains of the filter: for large teams they are the largest response.
 */
export const metricsReads: Reads = (query) => {
  const [now, value] = [clock.now, (name: string) => query.get(name)]
  const asked = { range: value('range'), from: value('from'), to: value('to') }
  const span = computeSpan(asked, now - (now % 60_000), utc.value)
  if (typeof span === 'string') return []
  const of = { domain: value('domain'), provider: value('provider'), utc: utc.value }
  const [about, by] = [getCacheKey(span, of), parseDimension(query)]
  let charts: Promise<unknown> = Promise.resolve()
  return [
    { key: `metrics ${about}`, load: () => (charts = loadCharts(span, of, now)) },
    {
      key: `breakdown ${by} ${about}`,
      load: () =>
        after(charts, () => getMetricsBreakdown({ ...buildMetricsQuery(span, of, now, 'now'), by })),
    },
  ]
}

export const domainListReads: Reads = () => [{ key: 'domains', load: () => listDomains() }]

export const domainReads: Reads = (_query, id) => [{ key: `domain ${id}`, load: () => getDomain(id) }]

export const logReads: Reads = (_query, id) => [{ key: `log ${id}`, load: () => getLog(id) }]

export const apiKeyReads: Reads = () => [{ key: 'api-keys', load: () => listApiKeys() }]

export const webhookReads: Reads = () => [{ key: 'webhooks', load: () => listWebhooks() }]

/** Loads the messages in the sandbox. */
export const inboxReads: Reads = () => [{ key: 'inbox', load: () => listSandboxMessages() }]
