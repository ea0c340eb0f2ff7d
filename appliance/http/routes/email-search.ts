import { refuse } from '../../mail/refusals.ts'
import type { EmailFilter, EmailSearchChunk, FoundEmail } from '../../storage/storage.ts'
import * as api from '../../api/email-search.ts'
import {
  listEmailSuppressions,
  listEmailWebhooks,
  MAX_WEBHOOK_DELIVERIES,
  presentEmailWebhooks,
} from '../../api/emails.ts'
import { presentSuppression } from '../../api/suppressions.ts'
import { presentList } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV_TYPE, sendDownload, PAGE_ROWS } from '../download.ts'
import { serve } from '../serve.ts'
import { searchUntilFull, presentSearch } from '../search-chunks.ts'

/** Routes to search and download emails, and to read an email's suppressed recipients and webhook events. */
export function emailSearchRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps
  const searchChunk = (teamId: string, filter: EmailFilter, limit: number, after: string | undefined) =>
    storage.searchEmails({ teamId, filter, limit, after }, clock.now())

  serve(app, api.searchEmails, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { limit, after, before: _before, ...conditions } = request.query
    const filter = api.parseEmailFilter(conditions)
    const found = await searchUntilFull({ limit, after }, (most, from) =>
      searchChunk(teamId, filter, most, from),
    )
    return presentSearch(found, api.presentFoundEmail)
  })

  serve(app, api.exportEmails, {}, async (request, reply) => {
    const { teamId } = getCaller(request)
    const filter = api.parseEmailFilter(request.query)
    const pages = allOf((after) => searchChunk(teamId, filter, PAGE_ROWS, after))
    const file = {
      name: 'emails.csv',
      type: CSV_TYPE,
      head: api.EMAIL_CSV_HEADER,
      write: api.formatEmailRow,
      pages,
    }
    return sendDownload(request, reply, file, deps)
  })

  serve(app, listEmailSuppressions, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = request.params
    if (!(await storage.getEmail({ teamId, id }, clock.now())))
      throw refuse('not_found', { resource: 'Email' })
    const { deliveries } = await storage.getHistory({ teamId, id }, clock.now())
    const addresses = [...new Set(deliveries.map(({ recipient }) => recipient))]
    const found = await storage.findSuppressed({ teamId, addresses }, clock.now())
    return presentList(found.map((one) => presentSuppression({ ...one, email: one.address })))
  })

  serve(app, listEmailWebhooks, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { id: emailId } = request.params
    if (!(await storage.getEmail({ teamId, id: emailId }, clock.now())))
      throw refuse('not_found', { resource: 'Email' })
    const told = await storage.webhooksOfEmail(
      { teamId, emailId, limit: MAX_WEBHOOK_DELIVERIES + 1 },
      clock.now(),
    )
    return presentEmailWebhooks(told)
  })
}

/** Yields all results, chunk by chunk as the client reads. */
async function* allOf(
  searchChunk: (after: string | undefined) => Promise<EmailSearchChunk>,
): AsyncGenerator<FoundEmail[]> {
  let after: string | undefined
  do {
    const { items, next } = await searchChunk(after)
    yield items
    after = next ?? undefined
  } while (after !== undefined)
}
