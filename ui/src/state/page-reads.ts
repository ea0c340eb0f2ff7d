/** What pages read first, by their addresses: asked for when somebody sets out for one. The keys are those that the pages read under. */
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

/** The newest emails. A search is left to the page, which says what is wrong with it. */
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

/** Does `act` once `first` ended, well or not. */
const after = <T>(first: Promise<unknown>, act: () => Promise<T>): Promise<T> =>
  first.catch(() => undefined).then(act)

/** The charts, and then the table below them: the appliance answers first for what is seen first. The domains to choose from can wait: of a team with hundreds they are the longest answer. */
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

/** What the sandbox received. */
export const inbox: Reads = () => [{ key: 'inbox', load: () => listSandboxMessages() }]
