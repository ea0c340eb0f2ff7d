import * as api from '../../api/receiving.ts'
import { presentAttachment } from '../../api/attachments.ts'
import { MAX_WEBHOOK_DELIVERIES, presentEmailWebhooks } from '../../api/emails.ts'
import { presentList, presentPage } from '../../api/shared.ts'
import { isoTimestamp } from '../../api/timestamp.ts'
import { refuse } from '../../mail/refusals.ts'
import type { AttachmentInfo, ReceivedEmail } from '../../storage/storage.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { serve } from '../serve.ts'
import {
  LINK_LIFETIME,
  paginateAttachments,
  sendFile,
  identifyAttachment,
  type LinkDeps,
} from './attachments.ts'

/**
 * Maximum total size of images embedded in the HTML of a response, in octets; other images stay `cid:` URLs. Base64
 * adds a third.
 */
const MOST_EMBEDDED = 10 * 1024 * 1024

/** Routes for received email, and for downloading its parts without a key. */
export function receivingRoutes(app: App, deps: HttpDeps, linked: LinkDeps): void {
  const { storage, mime, clock } = deps
  contentRoutes(app, deps, linked)
  downloadRoute(app, deps, linked)
  ownRoutes(app, deps)

  serve(app, api.listReceivedEmails, {}, async (request) => {
    const { teamId } = getCaller(request)
    const {
      in_reply_to_email_id: answers,
      domain_id: domainId,
      has_attachments: attached,
      spam,
      ...page
    } = request.query
    const hasAttachments = attached === undefined ? undefined : attached === 'true'
    const isSpam = spam === undefined ? undefined : spam === 'true'
    const filter = { answers, domainId, hasAttachments, isSpam }
    const found = await storage.listReceivedEmails({ teamId, ...page, ...filter }, clock.now())
    return presentPage(found, api.presentReceivedEmail)
  })

  serve(app, api.getReceivedEmail, {}, async (request) => {
    const email = await find(deps, getCaller(request).teamId, request.params.id)
    const format = request.query.html_format ?? 'data_uri'
    const bytes = await storage.getReceivedSource(email, clock.now())
    const { html, text } = bytes ? await contentOf(deps, email, bytes) : { html: null, text: null }
    const { url, expiresAt } = linkTo(email, '', deps, linked)
    const shown =
      html !== null && bytes && format === 'data_uri' ? await embedded(mime, email, bytes, html) : html
    const { teamId, id } = email
    const forwards = await storage.listForwards({ teamId, receivedId: id }, clock.now())
    return {
      ...api.presentReceivedContent(email, bytes, { html: shown, text }, forwards),
      html_format: format,
      raw: bytes ? { download_url: url, expires_at: isoTimestamp(expiresAt) } : null,
    }
  })
}

async function find({ storage, clock }: HttpDeps, teamId: string, id: string): Promise<ReceivedEmail> {
  const email = await storage.getReceivedEmail({ teamId, id }, clock.now())
  if (!email) throw refuse('not_found', { resource: 'Email' })
  return email
}

/** Creates a download link. @param attachmentId empty for the message itself */
function linkTo(
  { teamId, id }: ReceivedEmail,
  attachmentId: string,
  { clock }: HttpDeps,
  { links, origin }: LinkDeps,
): { url: string; expiresAt: number } {
  const expiresAt = clock.now() + LINK_LIFETIME
  const token = links.sign('received', { teamId, emailId: id, attachmentId, expiresAt })
  return { url: `${origin()}/downloads/received/${token}`, expiresAt }
}

function contentRoutes(app: App, deps: HttpDeps, linked: LinkDeps): void {
  const present = (email: ReceivedEmail, attachment: AttachmentInfo) => {
    const { url, expiresAt } = linkTo(email, attachment.id, deps, linked)
    return presentAttachment(attachment, url, expiresAt)
  }

  serve(app, api.listReceivedAttachments, {}, async (request) => {
    const email = await find(deps, getCaller(request).teamId, request.params.id)
    const { items, hasMore } = paginateAttachments(email.attachments, request.query)
    return presentList(
      items.map((item) => present(email, item)),
      hasMore,
    )
  })

  serve(app, api.getReceivedAttachment, {}, async (request) => {
    const email = await find(deps, getCaller(request).teamId, request.params.id)
    const attachment = email.attachments.find(({ id }) => id === request.params.attachment_id)
    if (!attachment) throw refuse('not_found', { resource: 'Attachment' })
    return { object: 'attachment' as const, ...present(email, attachment) }
  })
}

/** Routes that the hosted service doesn't have: the source, and the webhook deliveries. */
function ownRoutes(app: App, deps: HttpDeps): void {
  const { storage, clock } = deps

  serve(app, api.getReceivedSource, {}, async (request, reply) => {
    const email = await find(deps, getCaller(request).teamId, request.params.id)
    const bytes = await storage.getReceivedSource(email, clock.now())
    if (!bytes) throw refuse('not_found', { resource: 'Email source' })
    return sendFile(reply, { filename: `${email.id}.eml`, contentType: 'message/rfc822' }, bytes)
  })

  serve(app, api.listReceivedWebhooks, {}, async (request) => {
    const { teamId, id } = await find(deps, getCaller(request).teamId, request.params.id)
    return presentEmailWebhooks(
      await storage.webhooksOfEmail({ teamId, emailId: id, limit: MAX_WEBHOOK_DELIVERIES + 1 }, clock.now()),
    )
  })
}

/** Route for downloads without a key. The link contains its target. */
function downloadRoute(app: App, deps: HttpDeps, { links }: LinkDeps): void {
  const { storage, clock } = deps
  serve(app, api.downloadReceived, { secretPath: true }, async (request, reply) => {
    const target = links.open('received', request.params.token, clock.now())
    if (target === undefined) throw refuse('not_found', { resource: 'File' })
    if (target === 'expired') throw refuse('link_expired')
    const email = await find(deps, target.teamId, target.emailId)
    if (target.attachmentId === '') {
      const bytes = await storage.getReceivedSource(email, clock.now())
      if (!bytes) throw refuse('not_found', { resource: 'File' })
      return sendFile(reply, { filename: `${email.id}.eml`, contentType: 'message/rfc822' }, bytes)
    }
    const place = email.attachments.findIndex(({ id }) => id === target.attachmentId)
    const content = place < 0 ? undefined : await attachmentOf(deps, email, place)
    if (!content) throw refuse('not_found', { resource: 'File' })
    return sendFile(reply, email.attachments[place]!, content)
  })
}

const attachmentOf = ({ mime, storage, clock }: HttpDeps, email: ReceivedEmail, place: number) =>
  mime.attachment({
    teamId: email.teamId,
    size: email.size,
    load: () => storage.getReceivedSource(email, clock.now()),
    which: identifyAttachment(email.attachments, place),
  })

/** Reads the content. A message that would take too much time or memory is shown as empty, but can be downloaded. */
async function contentOf({ mime }: HttpDeps, { teamId }: ReceivedEmail, bytes: Uint8Array) {
  try {
    return await mime.read(bytes, teamId)
  } catch (error) {
    if (isMalformed(error)) return { html: null, text: null }
    throw error
  }
}

const isMalformed = (error: unknown): boolean =>
  error instanceof Error && 'key' in error && error.key === 'message_malformed'

/** Embeds inline images in the HTML (RFC 2392 §2), if they are images and not too large together. */
async function embedded(
  mime: HttpDeps['mime'],
  { teamId, size, attachments }: ReceivedEmail,
  bytes: Uint8Array,
  html: string,
): Promise<string> {
  const named = new Set([...html.matchAll(/\bcid:([^"'\s)>]+)/gi)].map(([, name]) => name))
  const uris = new Map<string, string>()
  let room = MOST_EMBEDDED
  for (const [place, { contentId, contentType, size: octets }] of attachments.entries()) {
    if (contentId === null || !named.has(contentId) || !/^image\/[\w.+-]+$/.test(contentType)) continue
    if ((room -= octets) < 0) break
    const which = identifyAttachment(attachments, place)
    const content = await mime.attachment({ teamId, size, load: () => Promise.resolve(bytes), which })
    if (content) uris.set(contentId, `data:${contentType};base64,${Buffer.from(content).toString('base64')}`)
  }
  return html.replaceAll(/\bcid:([^"'\s)>]+)/gi, (whole, name: string) => uris.get(name) ?? whole)
}
