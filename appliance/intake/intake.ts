/** The door in: the only way by which an email comes to exist. */
import type { Clock } from '../clock/clock.ts'
import { formatMailbox, type Mailbox } from '../mail/address.ts'
import { makeReturnPath, returnPathHost } from '../mail/envelope.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Caller } from '../senders/caller.ts'
import type { Senders } from '../senders/senders.ts'
import { LIFETIME } from '../spool/schedule.ts'
import type { Domain, NewDelivery, NewEmail, Storage } from '../storage/storage.ts'
import { dispositionOf, type Composed } from './compose.ts'
import { createComposer } from './composer.ts'
import type { Submission } from './submission.ts'

export { readRequest, refuseNotOffered } from './request.ts'
export type { Submission } from './submission.ts'

export interface IntakeDeps {
  storage: Pick<Storage, 'put'>
  senders: Pick<Senders, 'authorize'>
  clock: Clock
  limits: {
    /** Largest message, attachments encoded, in bytes. */
    message_bytes: number
  }
  /** Tells dispatch that something is due. */
  wake: () => void
}

export interface Intake {
  /**
   * Takes an email: when the promise resolves, it is durable and ours to deliver.
   * Refuses: what `senders.authorize` refuses, `message_too_large`, `overloaded`; then nothing is stored.
   */
  accept(submission: Submission, caller: Caller): Promise<{ id: string }>
  close(): Promise<void>
}

export function createIntake({ storage, senders, clock, limits, wake }: IntakeDeps): Intake {
  const composer = createComposer({ clock })
  const tooLarge = () => refuse('message_too_large', { limit: limits.message_bytes })

  return {
    async accept(submission, caller) {
      const domain = await senders.authorize(caller, { domain: submission.from.domain })
      if (leastSize(submission) > limits.message_bytes) throw tooLarge()
      const now = clock.now()
      const id = newId(now)
      const messageId = submission.messageId ?? `<${id}@${submission.from.domain}>`
      const composed = await composer.compose({ ...draftOf(submission), messageId, date: now })
      if (composed.message.length > limits.message_bytes) throw tooLarge()
      await storage.put(emailOf({ id, messageId, submission, composed, domain, caller, now }), now)
      // ── the acceptance boundary: from here on it is ours ──
      wake()
      return { id }
    },
    close: () => composer.close(),
  }
}

/** No message made of it can be smaller: base64 takes 4 octets for 3 (RFC 2045 §6.8). Spares composing what will be refused. */
function leastSize({ html, text, attachments }: Submission): number {
  const encoded = attachments.reduce((sum, { content }) => sum + Math.ceil(content.byteLength / 3) * 4, 0)
  return (html?.length ?? 0) + (text?.length ?? 0) + encoded
}

/** What composing may know; Bcc is not among it. */
function draftOf({ from, to, cc, replyTo, subject, html, text, headers, attachments }: Submission) {
  return { from, to, cc, replyTo, subject, html, text, headers, attachments }
}

interface Accepted {
  id: string
  messageId: string
  submission: Submission
  composed: Composed
  domain: Domain
  caller: Caller
  now: number
}

function emailOf({ id, messageId, submission, composed, domain, caller, now }: Accepted): NewEmail {
  const written = (mailboxes: Mailbox[]) => mailboxes.map(formatMailbox)
  return {
    id,
    teamId: caller.teamId,
    domainId: domain.id,
    apiKeyId: caller.apiKey?.id ?? null,
    via: caller.apiKey ? 'rest' : 'dashboard',
    from: formatMailbox(submission.from),
    to: written(submission.to),
    cc: written(submission.cc),
    bcc: written(submission.bcc),
    replyTo: written(submission.replyTo),
    subject: submission.subject,
    html: submission.html,
    text: composed.text,
    headers: submission.headers,
    tags: submission.tags,
    attachments: submission.attachments.map((attachment) => ({
      id: newId(now),
      filename: attachment.filename,
      contentType: attachment.contentType,
      contentId: attachment.contentId,
      disposition: dispositionOf(attachment),
      size: attachment.content.byteLength,
    })),
    messageId,
    returnPath: makeReturnPath(id, returnPathHost(domain)),
    scheduledAt: null,
    message: composed.message,
    deliveries: deliveriesOf(submission, now),
  }
}

/** One delivery for each address, however often it is named; the first field that names it wins. */
function deliveriesOf({ to, cc, bcc }: Submission, now: number): NewDelivery[] {
  const named = [
    ...to.map((mailbox) => ({ mailbox, field: 'to' as const })),
    ...cc.map((mailbox) => ({ mailbox, field: 'cc' as const })),
    ...bcc.map((mailbox) => ({ mailbox, field: 'bcc' as const })),
  ]
  const first = new Map(named.toReversed().map((entry) => [entry.mailbox.address, entry]))
  return [...new Set(named.map(({ mailbox }) => mailbox.address))].map((recipient) => {
    const { mailbox, field } = first.get(recipient)!
    return { id: newId(now), recipient, field, lane: mailbox.domain, dueAt: now, expiresAt: now + LIFETIME }
  })
}
