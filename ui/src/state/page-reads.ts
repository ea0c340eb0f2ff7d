/** What pages read first, for those where that takes long enough to be seen: asked for together with their scripts. */
import { listDomains, listSandboxMessages } from '../api/calls.ts'
import { searchEmails } from '../api/emails.ts'
import { breakDown } from '../api/metrics.ts'
import type { Read } from './ahead.ts'
import { clock } from './clock.svelte.ts'
import { PART } from './email-rows.ts'
import { aboutOf, byIn, questionOf, readCharts } from './metrics-read.ts'
import { spanOf } from './metrics-range.ts'
import { utc } from './remembered.svelte.ts'
import { router } from './router.svelte.ts'

/** The newest emails. A search is left to the page, which says what is wrong with it. */
export const emailsReads = (): Read[] =>
  router.query.has('q')
    ? []
    : [
        {
          key: `emails ${utc.value} `,
          load: () => searchEmails({}, null, PART, new AbortController().signal),
        },
      ]

/** The charts, the table below them, and the domains to choose from. */
export function metricsReads(): Read[] {
  const query = router.query
  const [now, value] = [clock.now, (name: string) => query.get(name)]
  const asked = { range: value('range'), from: value('from'), to: value('to') }
  const span = spanOf(asked, now - (now % 60_000), utc.value)
  if (typeof span === 'string') return []
  const of = { domain: value('domain'), provider: value('provider'), utc: utc.value }
  const [about, by] = [aboutOf(span, of), byIn(query)]
  return [
    { key: `metrics ${about}`, load: () => readCharts(span, of, now) },
    {
      key: `breakdown ${by} ${about}`,
      load: () => breakDown({ ...questionOf(span, of, now, 'now'), by }),
    },
    { key: 'domains', load: () => listDomains() },
  ]
}

/** What the sandbox received. */
export const inboxReads = (): Read[] => [{ key: 'inbox', load: () => listSandboxMessages() }]
