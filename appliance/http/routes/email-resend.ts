import { parseMailbox } from '../../mail/address.ts'
import { explainReservedField } from '../../mail/headers.ts'
import { refuse } from '../../mail/refusals.ts'
import { parseRequest, type EmailContentReader, type Submission } from '../../intake/intake.ts'
import type { Email, EmailHistory } from '../../storage/storage.ts'
import { setAcceptedHeaders, identifyRequest } from '../accepted.ts'
import { getCaller } from '../access.ts'
import type { App, HttpDeps } from '../deps.ts'
import { resendEmail, type AttachmentInput, type SendEmail } from '../../api/sending.ts'
import { serve } from '../serve.ts'
import { identifyAttachment } from './attachments.ts'

/** Routes for sending an email again, as a new email with its own id and Message-ID. */
export function emailResendRoutes(app: App, deps: HttpDeps, contents: EmailContentReader): void {
  const { storage, intake, clock } = deps

  serve(app, resendEmail, { right: 'send', audit: null }, async (request, reply) => {
    const caller = getCaller(request)
    const { id } = request.params
    const email = await storage.getEmail({ teamId: caller.teamId, id }, clock.now())
    if (!email) throw refuse('not_found', { resource: 'Email' })
    const name = identifyRequest(request, `POST /emails/${id}/resend`)
    // The content may have been deleted since the first request with this key, so don't read it again.
    const accepted =
      (await intake.findEarlier(name, caller)) ??
      (await intake.accept({ submissions: [await again(deps, contents, email)], ...name }, caller))
    setAcceptedHeaders(reply, accepted)
    const created = accepted.ids[0]!
    request.about.email_id = created
    return { id: created }
  })
}

/**
 * Builds a new request from the email. It is checked like any other, because the domain may have been removed, or the
 * address suppressed.
 */
async function again(
  { storage, mime, clock }: HttpDeps,
  contents: EmailContentReader,
  email: Email,
): Promise<Submission> {
  const { teamId, id } = email
  const content = await contents.of(email)
  if (content.html === null && content.text === null)
    throw refuse('not_resendable', { reason: 'its content is no longer stored' })
  const history = await storage.getHistory({ teamId, id }, clock.now())
  if (!sameRecipients(email, history))
    throw refuse('not_resendable', { reason: 'its header lists different recipients than its envelope' })
  const attachments = await Promise.all(email.attachments.map((_, place) => attachment(place)))
  return parseRequest(bodyOf(email, content, attachments), clock.now())

  async function attachment(place: number): Promise<AttachmentInput> {
    const { filename, contentType, contentId } = email.attachments[place]!
    const load = () => storage.getMessage({ emailId: id }, clock.now())
    const which = identifyAttachment(email.attachments, place)
    const content = await mime.attachment({ teamId: email.teamId, size: email.size, load, which })
    if (!content) throw refuse('not_resendable', { reason: 'its attachments are no longer stored' })
    const file = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64')
    return { content: file, filename, content_type: contentType, content_id: contentId }
  }
}

/**
 * Whether the header contains exactly the recipients. The header of a message submitted by SMTP may contain a list, or
 * a hundred other addresses (RFC 5321 §2.3.1: only the envelope determines the recipients).
 */
function sameRecipients(email: Email, { deliveries }: EmailHistory): boolean {
  const named = [...email.to, ...email.cc, ...email.bcc].map((text) =>
    parseMailbox(text)?.address.toLowerCase(),
  )
  const sent = new Set(deliveries.map(({ recipient }) => recipient.toLowerCase()))
  return (
    named.every((address) => address !== undefined && sent.has(address)) && new Set(named).size === sent.size
  )
}

/** Builds the body, without header fields that the server or a mail client added. */
function bodyOf(
  email: Email,
  { html, text }: Awaited<ReturnType<EmailContentReader['of']>>,
  attachments: AttachmentInput[],
): SendEmail {
  const { from, to, cc, bcc, replyTo, subject, headers, tags, topicId } = email
  const own = headers.filter(
    ({ name }) => explainReservedField(name) === undefined && !/^message-id$/i.test(name),
  )
  return {
    from,
    to,
    cc,
    bcc,
    reply_to: replyTo,
    subject,
    html,
    text: text ?? '',
    tags,
    attachments,
    topic_id: topicId,
    headers: Object.fromEntries(own.map(({ name, value }) => [name, value])),
  }
}
