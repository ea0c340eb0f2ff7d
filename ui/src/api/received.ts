/** API calls for received email. */
import type { Static } from 'typebox'
import type { AttachmentList } from '../../../appliance/api/attachments.ts'
import type { EmailWebhookEvents } from '../../../appliance/api/emails.ts'
import type { ReceivedEmail, ReceivedEmailSummary } from '../../../appliance/api/receiving.ts'
import type { ReceivingRules } from '../../../appliance/api/receiving-rules.ts'
import { change, read, request } from './client.ts'

const at = (id: string) => `/emails/receiving/${encodeURIComponent(id)}`

/** Filters of the list and the start of a page. Empty strings and null are ignored. */
export type ReceivedQuery = Partial<
  Record<
    | 'search'
    | 'domain_id'
    | 'dmarc'
    | 'has_attachments'
    | 'spam'
    | 'in_reply_to_email_id'
    | 'after'
    | 'before'
    | 'limit',
    string | null
  >
>

export function listReceivedEmails(asked: ReceivedQuery, signal?: AbortSignal) {
  const query = new URLSearchParams({ limit: '50' })
  for (const [name, value] of Object.entries(asked)) if (value) query.set(name, value)
  return read<{ data: ReceivedEmailSummary[]; has_more: boolean }>(`/emails/receiving?${query}`, signal)
}

/** Returns a received email. Inline images keep their `cid:` URLs; the preview takes them from the source. */
export const getReceivedEmail = (id: string, signal?: AbortSignal) =>
  read<ReceivedEmail>(`${at(id)}?html_format=cid`, signal)

/** Path of the message as received, to show or download. */
export const receivedSourcePath = (id: string) => `${at(id)}/source`

export async function getReceivedSource(id: string, signal?: AbortSignal): Promise<Uint8Array> {
  const answer = await request(receivedSourcePath(id), signal ? { signal } : {})
  return new Uint8Array(await answer.arrayBuffer())
}

export const listReceivedAttachments = (id: string, signal?: AbortSignal) =>
  read<Static<typeof AttachmentList>>(`${at(id)}/attachments?limit=100`, signal)

export const listReceivedWebhooks = (id: string, signal?: AbortSignal) =>
  read<EmailWebhookEvents>(`${at(id)}/webhooks`, signal)

const rulesOf = (domain: string) => `/domains/${encodeURIComponent(domain)}/receiving-rules`

export const getReceivingRules = (domain: string) => read<ReceivingRules>(rulesOf(domain))

export const setReceivingRules = (domain: string, rules: ReceivingRules['rules']) =>
  change<ReceivingRules>('PUT', rulesOf(domain), { rules })
