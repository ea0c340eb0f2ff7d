import { Readable } from 'node:stream'
import { refuse } from '../../mail/refusals.ts'
import type { EmailFilter, EmailsFound } from '../../storage/storage.ts'
import {
  EMAIL_COLUMNS,
  emailRecord,
  presentEmailSummary,
  presentFound,
  presentList,
  presentSuppression,
  presentWebhookDeliverySummary,
} from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readEmailFilter } from '../email-filter.ts'
import { readId } from '../query.ts'
import { EmailSearch, EmailWebhookEvents } from '../schemas/email-search.ts'
import { SuppressionList } from '../schemas/suppressions.ts'
import { fill, pageForwards, presentSearch } from '../stretches.ts'

/** Rows of a file that are read at once. */
const AT_ONCE = 500
/** Of an email, what webhooks were told. */
const MOST_TOLD = 100

/** Finding emails, taking the list away as a file, and for one email its suppressed recipients and webhook events. */
export function emailSearchRoutes(app: App, { storage, clock }: HttpDeps): void {
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
    void reply
      .type('text/csv; charset=utf-8; header=present')
      .header('content-disposition', 'attachment; filename="emails.csv"')
    return reply.send(Readable.from(lines((after) => stretch(teamId, filter, AT_ONCE, after))))
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

/** The lines of the file, each stretch read when the client has room for it. */
async function* lines(stretch: (after: string | undefined) => Promise<EmailsFound>): AsyncGenerator<string> {
  yield EMAIL_COLUMNS
  let after: string | undefined
  do {
    const { items, next } = await stretch(after)
    if (items.length > 0) yield items.map(emailRecord).join('')
    after = next ?? undefined
  } while (after !== undefined)
}
