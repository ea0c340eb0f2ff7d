/** The first requests of pages, by address, so that they can be preloaded. The pages use the same keys. */
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
import { breakDown } from '../api/metrics.ts'
import type { Read } from './ahead.ts'
import { clock } from './clock.svelte.ts'
import { PART } from './email-rows.ts'
import { aboutOf, byIn, questionOf, readCharts } from './metrics-read.ts'
import { spanOf } from './metrics-range.ts'
import { utc } from './remembered.svelte.ts'

type Reads = (query: URLSearchParams, id: string) => Read[]

/** Loads the newest emails. Searches aren't preloaded: the page reports their errors. */
export const emails: Reads = (query) =>
  query.has('q')
    ? []
    : [
        {
          key: `emails ${utc.value} `,
          load: () => searchEmails({}, null, PART, new AbortController().signal),
        },
      ]

export const email: Reads = (_query, id) => [
  { key: `timeline ${id}`, load: () => getTimeline(id) },
  { key: `email ${id}`, load: () => getEmail(id) },
  { key: `suppressions of ${id}`, load: () => listEmailSuppressions(id) },
]

/** Runs `act` after `first` has settled. */
const after = <T>(first: Promise<unknown>, act: () => Promise<T>): Promise<T> =>
  first.catch(() => undefined).then(act)

/**
 * Loads the charts, then the table below them, so that the server answers in the order shown. The filter's domains
 * aren't preloaded: for large teams they are the longest response.
 */
export const metrics: Reads = (query) => {
  const [now, value] = [clock.now, (name: string) => query.get(name)]
  const asked = { range: value('range'), from: value('from'), to: value('to') }
  const span = spanOf(asked, now - (now % 60_000), utc.value)
  if (typeof span === 'string') return []
  const of = { domain: value('domain'), provider: value('provider'), utc: utc.value }
  const [about, by] = [aboutOf(span, of), byIn(query)]
  let charts: Promise<unknown> = Promise.resolve()
  return [
    { key: `metrics ${about}`, load: () => (charts = readCharts(span, of, now)) },
    {
      key: `breakdown ${by} ${about}`,
      load: () => after(charts, () => breakDown({ ...questionOf(span, of, now, 'now'), by })),
    },
  ]
}

export const domains: Reads = () => [{ key: 'domains', load: () => listDomains() }]

export const domain: Reads = (_query, id) => [{ key: `domain ${id}`, load: () => getDomain(id) }]

export const log: Reads = (_query, id) => [{ key: `log ${id}`, load: () => getLog(id) }]

export const apiKeys: Reads = () => [{ key: 'api-keys', load: () => listApiKeys() }]

export const webhooks: Reads = () => [{ key: 'webhooks', load: () => listWebhooks() }]

/** Loads the messages in the sandbox. */
export const inbox: Reads = () => [{ key: 'inbox', load: () => listSandboxMessages() }]
