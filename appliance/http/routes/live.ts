import { parseCursor } from '../../storage/storage.ts'
import { getCaller, stillHasAccess, isOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import type { LiveStreams } from '../live.ts'
import { serve } from '../serve.ts'
import { watchEmails } from '../../api/service.ts'

/**
 * Route GET /live: events about the team's emails, domains and suppressions and, for operators, lanes, as they happen
 * (server-sent events).
 */
export function liveRoutes(
  app: App,
  deps: Pick<HttpDeps, 'storage' | 'clock' | 'senders' | 'accounts'>,
  live: LiveStreams,
): void {
  serve(app, watchEmails, { logLevel: 'warn', exposeHeadRoute: false }, async (request, reply) => {
    const { teamId } = getCaller(request)
    live.admit(teamId)
    const operator = await isOperator(request, deps)
    const given = request.headers['last-event-id']
    const after = typeof given === 'string' ? parseCursor(given) : null
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(reply.getHeaders())) headers[name] = String(value)
    headers['content-type'] = 'text/event-stream; charset=utf-8'
    // Otherwise, nginx would buffer the stream.
    headers['x-accel-buffering'] = 'no'
    reply.hijack()
    try {
      const still = () => stillHasAccess(deps, request)
      await live.join({ teamId, operator, still }, reply.raw, headers, after)
    } catch (err) {
      // Storage failed. The client reconnects by itself.
      request.log.warn({ err }, 'a live stream ended: the storage is not responding')
      reply.raw.destroy()
    }
  })
}
