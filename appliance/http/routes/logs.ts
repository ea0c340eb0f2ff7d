import type { Contents } from '../../intake/intake.ts'
import { isId } from '../../mail/ids.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentLog, presentListedLog } from '../../wireformat/wireformat.ts'
import { presentList } from '../../api/shared.ts'
import { callerOf } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { readLogFilter } from '../log-filter.ts'
import { readPage } from '../query.ts'
import type { RequestLogBuffer } from '../request-log-buffer.ts'
import { fillIn, type ContentOf } from '../request-log-emails.ts'
import * as schema from '../schemas/logs.ts'
import { fill, pageForwards, presentSearch } from '../stretches.ts'

/** What apps asked and were answered. What the buffer holds is written first, so that a list has what was just done. */
export function logRoutes(
  app: App,
  { storage, clock }: HttpDeps,
  { buffer, contents }: { buffer: RequestLogBuffer; contents: Contents },
): void {
  app.get('/logs', { schema: { response: { 200: schema.LogList } } }, async (request) => {
    const { teamId } = callerOf(request)
    const args = { teamId, ...readPage(request.query), emailId: readEmailId(request.query) }
    await buffer.flush()
    const page = await storage.listLogs(args, clock.now())
    return presentList(page.items.map(presentListedLog), page.hasMore)
  })

  app.get('/logs/search', { schema: { response: { 200: schema.LogSearch } } }, async (request) => {
    const { teamId } = callerOf(request)
    const page = pageForwards(request.query)
    const filter = readLogFilter(request.query, ['limit', 'after'])
    await buffer.flush()
    const found = await fill(page, (limit, after) =>
      storage.searchLogs({ teamId, filter, limit, after }, clock.now()),
    )
    return presentSearch(found, presentListedLog)
  })

  app.get('/logs/:id', { schema: { response: { 200: schema.Log } } }, async (request) => {
    const { teamId } = callerOf(request)
    const { id } = request.params as { id: string }
    if (!isId(id)) throw refuse('invalid_id', { parameter: 'logId' })
    await buffer.flush()
    const log = await storage.getLog({ teamId, id: id.toLowerCase() }, clock.now())
    if (!log) throw refuse('not_found', { resource: 'Log' })
    const contentOf: ContentOf = async (emailId) => {
      const email = await storage.getEmail({ teamId, id: emailId }, clock.now())
      return email && contents.of(email)
    }
    return presentLog({ ...log, requestBody: await fillIn(log, contentOf) })
  })
}

function readEmailId(query: unknown): string | undefined {
  const { email_id: id } = query as { email_id?: unknown }
  if (id === undefined || id === '') return undefined
  if (typeof id !== 'string' || !isId(id)) throw refuse('invalid_id', { parameter: 'email_id' })
  return id.toLowerCase()
}
