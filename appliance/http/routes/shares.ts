import type { FastifyReply } from 'fastify'
import { shareEmail } from '../../api/emails.ts'
import { refuse } from '../../mail/refusals.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import {
  renderContentPage,
  CONTENT_POLICY,
  renderNoticePage,
  PAGE_POLICY,
  renderSharedPage,
} from '../shared-page.ts'
import type { LinkDeps } from './attachments.ts'
import { parseDuration } from '../../mail/date.ts'

/** Default and maximum lifetime of a link, in milliseconds. */
const MAX_LIFETIME = 48 * 60 * 60 * 1000

/** Routes for links that show an email to people without an account. */
export function shareRoutes(
  app: App,
  { storage, clock }: HttpDeps,
  { links, origin, contents }: LinkDeps,
): void {
  const audit = { action: 'email.share' } as const
  serve(app, shareEmail, { right: 'send', audit }, async (request) => {
    const { teamId } = getCaller(request)
    const { id } = request.params
    const lifetime = readLifetime(request.body?.expires_in)
    if (!(await storage.getEmail({ teamId, id }, clock.now())))
      throw refuse('not_found', { resource: 'Email' })
    const target = { teamId, emailId: id, attachmentId: '', expiresAt: clock.now() + lifetime }
    return { object: 'email' as const, id, url: `${origin()}/shared/${links.sign('share', target)}` }
  })

  /** Returns the email of a link, or sends a page that explains why there is none. */
  const open = async (params: unknown, reply: FastifyReply) => {
    const { token } = params as { token: string }
    const target = links.open('share', token, clock.now())
    if (target === 'expired')
      return sendPage(
        reply.code(410),
        renderNoticePage('This link has expired', 'Ask the sender for a new one.'),
      )
    const email =
      target && (await storage.getEmail({ teamId: target.teamId, id: target.emailId }, clock.now()))
    if (!email)
      return sendPage(
        reply.code(404),
        renderNoticePage('This link does not work', 'It may be incomplete. Ask the sender for it again.'),
      )
    return { email, expiresAt: target.expiresAt }
  }
  const config = { access: 'public', secretPath: true } as const

  app.get('/shared/:token', { config }, async (request, reply) => {
    const opened = await open(request.params, reply)
    if (!('email' in opened)) return opened
    const { token } = request.params as { token: string }
    return sendPage(reply, renderSharedPage(opened.email, `/shared/${token}/content`, opened.expiresAt))
  })

  app.get('/shared/:token/content', { config }, async (request, reply) => {
    const opened = await open(request.params, reply)
    if (!('email' in opened)) return opened
    const page = renderContentPage(await contents.of(opened.email))
    return sendPage(reply.header('x-frame-options', 'SAMEORIGIN'), page, CONTENT_POLICY)
  })
}

function readLifetime(expiresIn: string | null | undefined): number {
  if (expiresIn === undefined || expiresIn === null || expiresIn === '') return MAX_LIFETIME
  const lifetime = parseDuration(expiresIn)
  if (lifetime === undefined || lifetime === 0)
    throw refuse('invalid_field', {
      field: 'expires_in',
      expected: 'a duration such as `10m`, `2 hours` or `1 day`',
    })
  if (lifetime > MAX_LIFETIME) throw refuse('share_too_long')
  return lifetime
}

function sendPage(reply: FastifyReply, html: string, policy = PAGE_POLICY): FastifyReply {
  return reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      // The page's URL is secret, so it must not be sent to sites that the mail links to, or to search engines.
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    })
    .send(html)
}
