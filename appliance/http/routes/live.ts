import { readCursor } from '../../storage/storage.ts'
import { callerOf, wouldEnter, isOperator } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import type { Live } from '../live.ts'
import { serve } from '../serve.ts'
import { watchEmails } from '../../api/service.ts'

/** GET /live: what happens to the team's emails, domains and suppressions, and to operators' lanes, as it happens (server-sent events). */
export function liveRoutes(
  app: App,
  deps: Pick<HttpDeps, 'storage' | 'clock' | 'senders' | 'accounts'>,
  live: Live,
): void {
  serve(app, watchEmails, { logLevel: 'warn', exposeHeadRoute: false }, async (request, reply) => {
    const { teamId } = callerOf(request)
    live.admit(teamId)
    const operator = await isOperator(request, deps)
    const given = request.headers['last-event-id']
    const after = typeof given === 'string' ? readCursor(given) : null
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(reply.getHeaders())) headers[name] = String(value)
    headers['content-type'] = 'text/event-stream; charset=utf-8'
    // nginx would collect the stream before it passes it on.
    headers['x-accel-buffering'] = 'no'
    reply.hijack()
    try {
      const still = () => wouldEnter(deps, request)
      await live.join({ teamId, operator, still }, reply.raw, headers, after)
    } catch (err) {
      // The storage did not answer. The client comes back by itself.
      request.log.warn({ err }, 'a live stream ended: the storage is not responding')
      reply.raw.destroy()
    }
  })
}
