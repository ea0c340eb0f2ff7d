/** API calls to find emails and act on them. */
import type { EmailConditions, EmailSearch, FoundEmail } from '../../../appliance/api/email-search.ts'
import type { EmailWebhookEvents } from '../../../appliance/api/emails.ts'
import type { Insights } from '../../../appliance/api/insights.ts'
import type { Static } from 'typebox'
import type { ReturnedMessageList } from '../../../appliance/api/received.ts'
import type { EmailCreated } from '../../../appliance/api/sending.ts'
import type { QueueChange } from '../../../appliance/api/queue-changes.ts'
import type { SuppressionList } from '../../../appliance/api/suppressions.ts'
import { change, read, addQueryString } from './client.ts'

export type { EmailSearch, FoundEmail }

const id = encodeURIComponent

/** Loads a chunk of search results; `after` is the `next` of the previous chunk. */
export const searchEmails = (
  conditions: EmailConditions,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) => read<EmailSearch>(addQueryString('/emails/search', { ...conditions, limit, after }), signal)

/** URL of a download with all results of a search. */
export const emailsExportUrl = (conditions: EmailConditions) =>
  addQueryString('/emails/export.csv', conditions)

export const listEmailWebhooks = (email: string, signal?: AbortSignal) =>
  read<EmailWebhookEvents>(`/emails/${id(email)}/webhooks`, signal)

/** Lists the suppressed recipients of an email. */
export const listEmailSuppressions = (email: string, signal?: AbortSignal) =>
  read<Static<typeof SuppressionList>>(`/emails/${id(email)}/suppressions`, signal)

/** Loads the results of an email's checks. */
export const getInsights = (email: string, signal?: AbortSignal) =>
  read<Insights>(`/emails/${id(email)}/insights`, signal)

/** Creates a new email with the same content. */
export const resendEmail = (email: string) => change<EmailCreated>('POST', `/emails/${id(email)}/resend`)

/** Retries all deferred recipients of an email now. */
export const retryEmail = (email: string) =>
  change<QueueChange>('POST', '/queue/retry', { filter: { email_id: email }, all: false })

/** Path of the complete record of an email, as a page to download. */
export const recordPath = (email: string) => `/emails/${id(email)}/record.html`

/** Path of the email's HTML with remote images. */
export const previewPath = (email: string) => `/emails/${id(email)}/preview`

export const listReturnedMessages = (email: string, signal?: AbortSignal) =>
  read<Static<typeof ReturnedMessageList>>(`/emails/${id(email)}/returned`, signal)

/** Path of a returned message, to download. */
export const returnedMessagePath = (email: string, message: string) =>
  `/emails/${id(email)}/returned/${id(message)}`
