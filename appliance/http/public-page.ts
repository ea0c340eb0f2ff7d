/**
 * Sends the public pages of teams: preferences, sign-up forms. They use no cookies and no scripts, and load nothing from
 * elsewhere.
 */
import type { FastifyReply } from 'fastify'
import { createHash } from 'node:crypto'
import type { RenderedPage } from '../mail/page-frame.ts'

/** Headers of pages that concern one person: not cached, not indexed, and their URL isn't passed on. */
export const PERSONAL_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/**
 * Sends a page that runs and loads nothing; its style is allowed by hash.
 * @param target where its form may lead, besides this server: browsers apply the policy to redirects too; null: nowhere
 */
export function sendPublicPage(
  reply: FastifyReply,
  { html, style }: RenderedPage,
  headers: Record<string, string>,
  target: string | null = null,
): FastifyReply {
  const hash = createHash('sha256').update(style).digest('base64')
  const forms = target === null ? "'self'" : `'self' ${new URL(target).origin}`
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; form-action ${forms}; frame-ancestors 'none'; base-uri 'none'`
  return reply
    .headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    .send(html)
}
