import { getDocument } from '../../api/service.ts'
import type { App } from '../deps.ts'
import { apiDocument } from '../openapi.ts'
import { referencePage } from '../reference-page.ts'
import { serve } from '../serve.ts'
import type { RouteFacts } from '../openapi-components.ts'

const open = { config: { access: 'public' }, logLevel: 'warn' } as const

/** Scripts, frames and anything from elsewhere: this page needs none. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"

/** Seconds that browsers may keep what only changes with the program. */
const MAX_AGE = 300

/**
 * The OpenAPI document and its page, made when they are first asked for.
 * @param routes filled while routes are added; complete when the server listens
 */
export function documentRoutes(app: App, routes: readonly RouteFacts[], version: string): void {
  // Kept as buffers, so repeated requests share one copy and cost no serialization.
  let document: Promise<Buffer> | undefined
  let page: Promise<Buffer> | undefined
  const makeDocument = async () => Buffer.from(JSON.stringify(await apiDocument(routes, version)))
  const makePage = async () => Buffer.from(referencePage(await apiDocument(routes, version)))

  serve(app, getDocument, { logLevel: 'warn' }, async (_request, reply) => {
    void reply.headers({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE}`,
    })
    document ??= makeDocument()
    return (await document) as unknown as Record<string, unknown>
  })

  app.get('/docs', open, async (_request, reply) =>
    reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'cache-control': `public, max-age=${MAX_AGE}`,
      })
      .send(await (page ??= makePage())),
  )
}
