import type { FastifyReply } from 'fastify'
import type { AttachmentKey } from '../../mime/mime.ts'
import type { EmailContentReader } from '../../intake/intake.ts'
import { refuse } from '../../mail/refusals.ts'
import type { AttachmentInfo, Email } from '../../storage/storage.ts'
import * as api from '../../api/attachments.ts'
import { DEFAULT_LIMIT, type PageQuery } from '../../api/parameters.ts'
import { presentList } from '../../api/shared.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import type { LinkSigner } from '../links.ts'
import { serve } from '../serve.ts'

/** How long a download link works, in milliseconds. */
export const LINK_LIFETIME = 60 * 60 * 1000

/** Dependencies for creating and opening links. */
export interface LinkDeps {
  links: LinkSigner
  /** Origin for links, without a trailing slash. */
  origin: () => string
  contents: EmailContentReader
}

/** Routes for the attachments of sent emails, and their download without a key. */
export function attachmentRoutes(
  app: App,
  { storage, mime, clock }: HttpDeps,
  { links, origin }: LinkDeps,
): void {
  const find = async (teamId: string, id: string): Promise<Email> => {
    const email = await storage.getEmail({ teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    return email
  }
  const present = (email: Email, attachment: AttachmentInfo): api.AttachmentSummary => {
    const expiresAt = clock.now() + LINK_LIFETIME
    const target = { teamId: email.teamId, emailId: email.id, attachmentId: attachment.id, expiresAt }
    const url = `${origin()}/downloads/attachments/${links.sign('attachment', target)}`
    return api.presentAttachment(attachment, url, expiresAt)
  }

  serve(app, api.listAttachments, {}, async (request) => {
    const email = await find(getCaller(request).teamId, request.params.id)
    const { items, hasMore } = paginateAttachments(email.attachments, request.query)
    return presentList(
      items.map((item) => present(email, item)),
      hasMore,
    )
  })

  serve(app, api.getAttachment, {}, async (request) => {
    const email = await find(getCaller(request).teamId, request.params.id)
    const attachment = email.attachments.find(({ id }) => id === request.params.attachment_id)
    if (!attachment) throw refuse('not_found', { resource: 'Attachment' })
    return { object: 'attachment' as const, ...present(email, attachment) }
  })

  serve(app, api.downloadAttachment, { secretPath: true }, async (request, reply) => {
    const { token } = request.params
    const target = links.open('attachment', token, clock.now())
    if (target === undefined) throw refuse('not_found', { resource: 'Attachment' })
    if (target === 'expired') throw refuse('link_expired')
    const email = await storage.getEmail({ teamId: target.teamId, id: target.emailId }, clock.now())
    const place = email?.attachments.findIndex(({ id }) => id === target.attachmentId) ?? -1
    if (!email || place < 0) throw refuse('not_found', { resource: 'Attachment' })
    const load = () => storage.getMessage({ emailId: email.id }, clock.now())
    const which = identifyAttachment(email.attachments, place)
    const content = await mime.attachment({ teamId: email.teamId, size: email.size, load, which })
    if (!content) throw refuse('not_found', { resource: 'Attachment' })
    return sendFile(reply, email.attachments[place]!, content)
  })
}

/** Identifies an attachment by its Content-ID or, without one, by its position among the attachments without one. */
export function identifyAttachment(attachments: AttachmentInfo[], place: number): AttachmentKey {
  const { contentId } = attachments[place]!
  if (contentId !== null) return { contentId }
  return { place: attachments.slice(0, place).filter((other) => other.contentId === null).length }
}

/** Sends an untrusted file. It is always downloaded and never shown, whatever its type. */
export function sendFile(
  reply: FastifyReply,
  { filename, contentType }: Pick<AttachmentInfo, 'filename' | 'contentType'>,
  content: Uint8Array,
) {
  return reply
    .headers({
      'content-type': contentType,
      'content-disposition': disposition(filename ?? 'attachment'),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    .send(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
}

/** Formats the filename in both ways (RFC 6266 §4.3): ASCII for old clients, and in full (RFC 8187 §3.2). */
function disposition(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(filename).replaceAll(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}

/**
 * Returns a page of attachments in the order of the message, which senders know. Without parameters, returns all of
 * them.
 */
export function paginateAttachments(
  items: AttachmentInfo[],
  { limit: given, after, before }: Partial<PageQuery>,
): { items: AttachmentInfo[]; hasMore: boolean } {
  if (given === undefined && after === undefined && before === undefined) return { items, hasMore: false }
  const limit = given ?? DEFAULT_LIMIT
  const at = (id: string) => items.findIndex((item) => item.id === id)
  if (before !== undefined) {
    const earlier = items.slice(0, Math.max(0, at(before)))
    return { items: earlier.slice(-limit), hasMore: earlier.length > limit }
  }
  // An unknown ID gives an empty page, like the ID of a deleted object.
  const later = after === undefined ? items : at(after) < 0 ? [] : items.slice(at(after) + 1)
  return { items: later.slice(0, limit), hasMore: later.length > limit }
}
