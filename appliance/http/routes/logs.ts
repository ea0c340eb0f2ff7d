import * as api from '../../api/logs.ts'
import { serve } from '../serve.ts'
import type { EmailContentReader } from '../../intake/intake.ts'
import { refuse } from '../../mail/refusals.ts'
import { presentPage } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import type { RequestLogBuffer } from '../request-log-buffer.ts'
import { restoreEmailContents, type ReadContent } from '../request-log-emails.ts'
import { searchUntilFull, presentSearch } from '../search-chunks.ts'

/** Routes for the request log. The buffer is written before reading, so that a list includes the latest requests. */
export function logRoutes(
  app: App,
  { storage, clock }: HttpDeps,
  { buffer, contents }: { buffer: RequestLogBuffer; contents: EmailContentReader },
): void {
  serve(app, api.listLogs, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { email_id: emailId, ...page } = request.query
    const args = { teamId, ...page, emailId }
    await buffer.flush()
    return presentPage(await storage.listLogs(args, clock.now()), api.presentListedLog)
  })

  serve(app, api.searchLogs, {}, async (request) => {
    const { teamId } = getCaller(request)
    const { limit, after, before: _before, ...conditions } = request.query
    const filter = api.parseLogFilter(conditions)
    await buffer.flush()
    const found = await searchUntilFull({ limit, after }, (most, from) =>
      storage.searchLogs({ teamId, filter, limit: most, after: from }, clock.now()),
    )
    return presentSearch(found, api.presentListedLog)
  })

  serve(app, api.getLog, {}, async (request) => {
    const { teamId } = getCaller(request)
    await buffer.flush()
    const log = await storage.getLog({ teamId, id: request.params.id }, clock.now())
    if (!log) throw refuse('not_found', { resource: 'Log' })
    const contentOf: ReadContent = async (emailId) => {
      const email = await storage.getEmail({ teamId, id: emailId }, clock.now())
      return email && contents.of(email)
    }
    return api.presentLog({ ...log, requestBody: await restoreEmailContents(log, contentOf) })
  })
}
