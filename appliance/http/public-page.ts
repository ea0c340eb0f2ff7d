/**
 * Sends the public pages of teams: preferences and sign-up forms. The pages use no cookies and no scripts, and load
 * nothing from other servers.
 */
import type { FastifyReply } from 'fastify'
import { createHash } from 'node:crypto'
import type { RenderedPage } from '../mail/page-frame.ts'

/** Headers of pages about one person. The pages aren't cached or indexed, and their URL isn't sent in Referer. */
export const PERSONAL_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/**
 * Sends a page that runs no scripts and loads nothing; its style is allowed by hash.
 * @param target origin where its form may lead besides this server, because browsers apply the policy to redirects,
 * too; null for none
 * @param frames whether it may show other pages of this server in frames
 */
export function sendPublicPage(
  reply: FastifyReply,
  { html, style }: RenderedPage,
  headers: Record<string, string>,
  target: string | null = null,
  frames = false,
): FastifyReply {
  const hash = createHash('sha256').update(style).digest('base64')
  const forms = target === null ? "'self'" : `'self' ${new URL(target).origin}`
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; form-action ${forms}; frame-ancestors 'none'; base-uri 'none'${frames ? "; frame-src 'self'" : ''}`
  return reply
    .headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    .send(html)
}
