import { previewEmail } from '../../api/emails.ts'
import { refuse } from '../../mail/refusals.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import type { LinkDeps } from './attachments.ts'

/**
 * Content security policy for an untrusted page: its own origin, no scripts, no forms, only images. The page is shown
 * in a frame of the dashboard, and is just as restricted outside that frame.
 */
const POLICY =
  "default-src 'none'; img-src http: https: data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox"
/** How long inline images can be loaded, in milliseconds. */
const LIFETIME = 60 * 60 * 1000

/** Routes for an email's HTML with remote images, for people who chose to load them. */
export function emailPreviewRoutes(
  app: App,
  { storage, clock }: HttpDeps,
  { links, contents }: LinkDeps,
): void {
  serve(app, previewEmail, {}, async (request, reply) => {
    const { teamId } = getCaller(request)
    const { id } = request.params
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    const { html } = await contents.of(email)
    if (html === null) throw refuse('not_found', { resource: 'HTML of this email' })
    const inline = new Map(
      email.attachments.map((file) => {
        const target = { teamId, emailId: id, attachmentId: file.id, expiresAt: clock.now() + LIFETIME }
        return [file.contentId, `/downloads/attachments/${links.sign('attachment', target)}`]
      }),
    )
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'x-frame-options': 'SAMEORIGIN',
        'referrer-policy': 'no-referrer',
      })
      .send(page(withInline(html, inline), request.query.look === 'dark'))
  })
}

/** Replaces `cid:` URLs (RFC 2392 §2) by URLs of this server. A URL of an unknown part is kept, and shows nothing. */
function withInline(html: string, inline: ReadonlyMap<string | null, string>): string {
  return html.replaceAll(/\bcid:([^"'\s)>]+)/gi, (whole, name: string) => inline.get(name) ?? whole)
}

const page = (html: string, dark: boolean): string =>
  '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">' +
  `<style>:root{color-scheme:${dark ? 'dark' : 'light'}}img{max-width:100%}</style>${html}`
