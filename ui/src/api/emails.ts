/** Calls about finding emails, and about what can be done with one. */
import type { EmailConditions, EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'
import type { EmailWebhookEvents } from '../../../appliance/api/emails.ts'
import type { Static } from 'typebox'
import type { ReturnedMessageList } from '../../../appliance/api/received.ts'
import type { EmailCreated } from '../../../appliance/api/sending.ts'
import type { QueueChange } from '../../../appliance/api/queue-changes.ts'
import type { SuppressionList } from '../../../appliance/api/suppressions.ts'
import { change, read, withParameters } from './client.ts'

export type { EmailSearch, FoundEmail }

const id = encodeURIComponent

/** A part of what a search finds; `after` is the `next` of the part before. */
export const searchEmails = (
  conditions: EmailConditions,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) => read<EmailSearch>(withParameters('/emails/search', { ...conditions, limit, after }), signal)

/** Where all that a search finds comes as a file. */
export const emailsFile = (conditions: EmailConditions) => withParameters('/emails/export.csv', conditions)

export const listEmailWebhooks = (email: string, signal?: AbortSignal) =>
  read<EmailWebhookEvents>(`/emails/${id(email)}/webhooks`, signal)

/** Which recipients of an email are suppressed now. */
export const listEmailSuppressions = (email: string, signal?: AbortSignal) =>
  read<Static<typeof SuppressionList>>(`/emails/${id(email)}/suppressions`, signal)

/** Makes a new email of the same content. */
export const resendEmail = (email: string) => change<EmailCreated>('POST', `/emails/${id(email)}/resend`)

/** Tries all recipients that wait for a later attempt now. */
export const retryEmail = (email: string) =>
  change<QueueChange>('POST', '/queue/retry', { filter: { email_id: email }, all: false })

/** Where the html of an email is shown with the images that it loads from elsewhere. */
export const previewPath = (email: string) => `/emails/${id(email)}/preview`

export const listReturned = (email: string, signal?: AbortSignal) =>
  read<Static<typeof ReturnedMessageList>>(`/emails/${id(email)}/returned`, signal)

/** Where a returned message is downloaded. */
export const returnedPath = (email: string, message: string) => `/emails/${id(email)}/returned/${id(message)}`
