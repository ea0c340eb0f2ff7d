import type { FastifyReply, FastifyRequest } from 'fastify'
import { LINK_PATH, PIXEL_PATH, type Tracking, type Visit } from '../../tracking/tracking.ts'
import type { App } from '../deps.ts'
import { noticePage, PAGE_POLICY } from '../shared-page.ts'

/** One transparent pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** What every answer says: it is for this visit alone, and for no search engine. */
const HEADERS = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/** Where the links and pixels of tracked emails lead. Only what we signed leads anywhere. */
export function trackingRoutes(app: App, tracking: Tracking): void {
  // Not logged: it would be a second record of who reads what, which nobody asked for.
  const open = { config: { access: 'public', secretPath: true, unmetered: true }, logLevel: 'warn' } as const

  // A wildcard, as a link is longer than a parameter may be.
  app.get(`${LINK_PATH}*`, open, async (request, reply) => {
    const tracked = tracking.open('click', restOf(request))
    if (!tracked || !/^https?:/i.test(tracked.link)) return sendNotice(reply)
    await tracking.note('click', tracked, visitOf(request))
    // As browsers write it: a header field is ASCII.
    return reply.headers(HEADERS).redirect(new URL(tracked.link).href, 302)
  })

  app.get(`${PIXEL_PATH}*`, open, async (request, reply) => {
    const tracked = tracking.open('open', restOf(request).replace(/\.gif$/, ''))
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
    .send(noticePage('This link does not work', words))
}
