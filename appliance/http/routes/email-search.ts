import type { FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { refuse } from '../../mail/refusals.ts'
import type { EmailFilter, EmailsFound, FoundEmail } from '../../storage/storage.ts'
import {
  EMAIL_COLUMNS,
  emailRecord,
  presentEmailSummary,
  presentFound,
  presentList,
  presentWebhookDeliverySummary,
  timestamp,
} from '../../wireformat/wireformat.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readEmailFilter } from '../email-filter.ts'
import { readId, readPage } from '../query.ts'
import { EmailSearch, EmailWebhookEvents } from '../schemas/email-search.ts'

/** Stretches that one request looks at, some milliseconds each: then the client goes on, and knows how far it has come. */
const MOST_STRETCHES = 50
/** Rows of a file that are read at once. */
const AT_ONCE = 500
/** Of an email, what webhooks were told. */
const MOST_TOLD = 100

/** Finding emails, taking the list away as a file, and what webhooks were told of one. */
export function emailSearchRoutes(app: App, { storage, clock }: HttpDeps): void {
  const stretch = (teamId: string, filter: EmailFilter, limit: number, after: string | undefined) =>
    storage.searchEmails({ teamId, filter, limit, after }, clock.now())

  app.get('/emails/search', { schema: { response: { 200: EmailSearch } } }, async (request) => {
    const { teamId } = callerOf(request)
    const { limit, after } = pageForwards(request)
    const filter = readEmailFilter(request.query, ['limit', 'after'])
    const { items, next } = await fill(limit, after, (most, from) => stretch(teamId, filter, most, from))
    const found = items.map((email) => presentFound(presentEmailSummary(email), email))
    const lookedBackTo = next === null ? null : timestamp(instantOf(next))
    return { ...presentList(found, next !== null), next, looked_back_to: lookedBackTo }
  })

  app.get('/emails/export.csv', (request, reply) => {
    const { teamId } = callerOf(request)
    const filter = readEmailFilter(request.query, [])
    void reply
      .type('text/csv; charset=utf-8; header=present')
      .header('content-disposition', 'attachment; filename="emails.csv"')
    return reply.send(Readable.from(lines((after) => stretch(teamId, filter, AT_ONCE, after))))
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

function pageForwards(request: FastifyRequest) {
  if ((request.query as Record<string, unknown>).before !== undefined)
    throw refuse('invalid_parameter', {
      parameter: 'before',
      expected: 'a search runs forwards, by `after`; for a time there are `since` and `until`',
    })
  return readPage(request.query)
}

/** Looks at stretch after stretch until the page is full, all was looked at, or it was enough for one request. */
async function fill(
  limit: number,
  after: string | undefined,
  stretch: (limit: number, after: string | undefined) => Promise<EmailsFound>,
): Promise<EmailsFound> {
  const items: FoundEmail[] = []
  let next = after ?? null
  for (let count = 0; count < MOST_STRETCHES; count++) {
    const part = await stretch(limit - items.length, next ?? undefined)
    items.push(...part.items)
    next = part.next
    if (next === null || items.length === limit) break
  }
  return { items, next }
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

/** When the email was accepted, by its id (RFC 9562 §5.7: the first 48 bits are milliseconds). */
const instantOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
