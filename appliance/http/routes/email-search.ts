import { refuse } from '../../mail/refusals.ts'
import type { EmailFilter, EmailsFound, FoundEmail } from '../../storage/storage.ts'
import { EMAIL_COLUMNS, emailRecord, presentEmailSummary, presentFound } from '../../wireformat/wireformat.ts'
import { presentSuppression, SuppressionList } from '../../api/suppressions.ts'
import { presentList } from '../../api/shared.ts'
import { presentWebhookDeliverySummary } from '../../api/webhook-events.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { CSV, download, PAGE_ROWS } from '../download.ts'
import { readEmailFilter } from '../email-filter.ts'
import { readId } from '../query.ts'
import { EmailSearch, EmailWebhookEvents } from '../schemas/email-search.ts'
import { fill, pageForwards, presentSearch } from '../stretches.ts'

/** Of an email, what webhooks were told. */
const MOST_TOLD = 100

/** Finding emails, taking the list away as a file, and for one email its suppressed recipients and webhook events. */
export function emailSearchRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps
  const stretch = (teamId: string, filter: EmailFilter, limit: number, after: string | undefined) =>
    storage.searchEmails({ teamId, filter, limit, after }, clock.now())

  app.get('/emails/search', { schema: { response: { 200: EmailSearch } } }, async (request) => {
    const { teamId } = callerOf(request)
    const page = pageForwards(request.query)
    const filter = readEmailFilter(request.query, ['limit', 'after'])
    const found = await fill(page, (most, from) => stretch(teamId, filter, most, from))
    return presentSearch(found, (email) => presentFound(presentEmailSummary(email), email))
  })

  app.get('/emails/export.csv', (request, reply) => {
    const { teamId } = callerOf(request)
    const filter = readEmailFilter(request.query, [])
    const pages = allOf((after) => stretch(teamId, filter, PAGE_ROWS, after))
    const file = { name: 'emails.csv', type: CSV, head: EMAIL_COLUMNS, write: emailRecord, pages }
    return download(request, reply, file, deps)
  })

  app.get('/emails/:id/suppressions', { schema: { response: { 200: SuppressionList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const id = readId(request.params)
    if (!(await storage.getEmail({ teamId, id }, clock.now())))
      throw refuse('not_found', { resource: 'Email' })
    const { deliveries } = await storage.getHistory({ teamId, id }, clock.now())
    const addresses = [...new Set(deliveries.map(({ recipient }) => recipient))]
    const found = await storage.findSuppressed({ teamId, addresses }, clock.now())
    return presentList(found.map((one) => presentSuppression({ ...one, email: one.address })))
  })

  app.get('/emails/:id/webhooks', { schema: { response: { 200: EmailWebhookEvents } } }, async (request) => {
    const { teamId } = callerOf(request)
    const emailId = readId(request.params)
    if (!(await storage.getEmail({ teamId, id: emailId }, clock.now())))
      throw refuse('not_found', { resource: 'Email' })
    const told = await storage.webhooksOfEmail({ teamId, emailId, limit: MOST_TOLD + 1 }, clock.now())
    return presentList(
      told
        .slice(0, MOST_TOLD)
        .map((one) => ({ ...presentWebhookDeliverySummary(one), webhook_id: one.webhookId })),
      told.length > MOST_TOLD,
    )
  })
}

/** All that a search finds, each stretch read when the client has room for it. */
async function* allOf(
  stretch: (after: string | undefined) => Promise<EmailsFound>,
): AsyncGenerator<FoundEmail[]> {
  let after: string | undefined
  do {
    const { items, next } = await stretch(after)
    yield items
    after = next ?? undefined
  } while (after !== undefined)
}
