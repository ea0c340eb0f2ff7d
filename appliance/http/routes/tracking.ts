import type { FastifyReply, FastifyRequest } from 'fastify'
import { LINK_PATH, PIXEL_PATH, type Tracking, type Visit } from '../../tracking/tracking.ts'
import type { App } from '../deps.ts'
import { renderNoticePage, PAGE_POLICY } from '../shared-page.ts'

/** A transparent pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Headers of every response: not cached, not indexed. */
const HEADERS = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/** Routes for the links and pixels of tracked emails. Only links signed by this server redirect. */
export function trackingRoutes(app: App, tracking: Tracking): void {
  // Not logged, because the log would be a second record of who reads what.
  const open = { config: { access: 'public', secretPath: true, unmetered: true }, logLevel: 'warn' } as const

  // A wildcard, because a link may exceed the maximum length of a path parameter.
  app.get(`${LINK_PATH}*`, open, async (request, reply) => {
    const tracked = await tracking.open('click', restOf(request))
    if (!tracked || !/^https?:/i.test(tracked.link)) return sendNotice(reply)
    await tracking.note('click', tracked, visitOf(request))
    // Serialized as browsers do, because a header field is ASCII.
    return reply.headers(HEADERS).redirect(new URL(tracked.link).href, 302)
  })

  app.get(`${PIXEL_PATH}*`, open, async (request, reply) => {
    const tracked = await tracking.open('open', restOf(request).replace(/\.gif$/, ''))
    if (!tracked) return sendNotice(reply)
    await tracking.note('open', tracked, visitOf(request))
    return reply
      .headers({ ...HEADERS, 'content-type': 'image/gif', 'cross-origin-resource-policy': 'cross-origin' })
      .send(PIXEL)
  })
}

const restOf = ({ params }: FastifyRequest): string => (params as { '*': string })['*']

const text = (value: string | string[] | undefined): string => (Array.isArray(value) ? '' : (value ?? ''))

function visitOf({ method, ip, headers }: FastifyRequest): Visit {
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-moz']].map(text).join(' ')
  return { method, ip, userAgent: headers['user-agent']?.trim() ?? '', purpose }
}

function sendNotice(reply: FastifyReply): FastifyReply {
  const words = 'It may be incomplete. Nothing was opened.'
  return reply
    .code(404)
    .headers({
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
    })
    .send(renderNoticePage('This link does not work', words))
}
