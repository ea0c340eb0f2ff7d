/** API calls for emails, domains, suppressions, requests and webhooks. The types are defined by the server. */
import type { Static } from 'typebox'
import type { ApiKeyCreated, ApiKeyList, CreateApiKey } from '../../../appliance/api/api-keys.ts'
import type { CreateDomain, Domain, DomainList, UpdateDomain } from '../../../appliance/api/domains.ts'
import type { AttachmentList } from '../../../appliance/api/attachments.ts'
import type { Email, EmailList, EmailShared } from '../../../appliance/api/emails.ts'
import type { Log, LogConditions, LogList, LogSearch } from '../../../appliance/api/logs.ts'
import type { DomainBodies } from '../../../appliance/api/retention.ts'
import type { SandboxMessage, SandboxMessageList } from '../../../appliance/api/sandbox.ts'
import type { Session } from '../../../appliance/api/session.ts'
import type {
  ImportSuppressions,
  Suppression,
  SuppressionImport,
  SuppressionList,
} from '../../../appliance/api/suppressions.ts'
import type { Timeline } from '../../../appliance/api/timeline.ts'
import type { Usage, UsageHistory } from '../../../appliance/api/usage.ts'
import type {
  CreateWebhook,
  UpdateWebhook,
  WebhookCreated,
  WebhookList,
  Webhook,
} from '../../../appliance/api/webhooks.ts'
import type {
  ReplayWebhook,
  WebhookAttemptList,
  WebhookEventList,
  WebhookReplayed,
  WebhookEvent,
  WebhookPinged,
} from '../../../appliance/api/webhook-events.ts'
import { ApiError, change, read, request, addQueryString } from './client.ts'

const id = encodeURIComponent

export const signOut = async (): Promise<void> => void (await request('/session', { method: 'DELETE' }))

export const getSession = () => read<Session>('/session')

/** Start of a list's page: after or before an ID (exclusive). By default, the page starts with the newest row. */
export interface Cursor {
  after?: string | null
  before?: string | null
}

export const listEmails = ({ after, before }: Cursor, limit: number, signal?: AbortSignal) =>
  read<EmailList>(addQueryString('/emails', { limit, after, before }), signal)

export const getEmail = (email: string, signal?: AbortSignal) => read<Email>(`/emails/${id(email)}`, signal)

export const getTimeline = (email: string, signal?: AbortSignal) =>
  read<Timeline>(`/emails/${id(email)}/timeline`, signal)

/** Path of the message as sent, to show or download. */
export const sourcePath = (email: string) => `/emails/${id(email)}/source`

export const getSource = async (email: string, signal?: AbortSignal): Promise<Uint8Array> => {
  const answer = await request(sourcePath(email), signal ? { signal } : {})
  return new Uint8Array(await answer.arrayBuffer())
}

/** Reschedules an email to `at`, in ISO 8601. */
export const rescheduleEmail = (email: string, at: string) =>
  change('PATCH', `/emails/${id(email)}`, { scheduled_at: at })

export const cancelEmail = (email: string) => change('POST', `/emails/${id(email)}/cancel`)

/** Creates a public link to the email that works for `span`, such as `1h`. */
export const shareEmail = (email: string, span: string) =>
  change<Static<typeof EmailShared>>('POST', `/emails/${id(email)}/share`, { expires_in: span })

export const listAttachments = (email: string, signal?: AbortSignal) =>
  read<Static<typeof AttachmentList>>(`/emails/${id(email)}/attachments?limit=100`, signal)

export const listDomains = (signal?: AbortSignal) => read<DomainList>('/domains', signal)

export const getDomain = (domain: string, signal?: AbortSignal) =>
  read<Domain>(`/domains/${id(domain)}`, signal)

export const verifyDomain = async (domain: string): Promise<void> =>
  void (await request(`/domains/${id(domain)}/verify`, { method: 'POST', repeatable: true }))

export const createDomain = (body: CreateDomain) => change<Domain>('POST', '/domains', body)

export const updateDomain = (domain: string, body: UpdateDomain) =>
  change('PATCH', `/domains/${id(domain)}`, body)

export const getDomainBodies = (domain: string) => read<DomainBodies>(`/domains/${id(domain)}/bodies`)

export const setBodyRetention = (domain: string, keep: boolean) =>
  change<DomainBodies>('PUT', `/domains/${id(domain)}/bodies`, { keep })

export const deleteDomain = (domain: string) => change('DELETE', `/domains/${id(domain)}`)

/** Starts a rotation of the DKIM keys: the new key is used once its record is published. */
export const rotateDkim = (domain: string) => change('POST', `/domains/${id(domain)}/dkim/rotate`)

export const listApiKeys = (signal?: AbortSignal) => read<Static<typeof ApiKeyList>>('/api-keys', signal)

export const createApiKey = (body: Static<typeof CreateApiKey>) =>
  change<Static<typeof ApiKeyCreated>>('POST', '/api-keys', body)

export const renameApiKey = (key: string, name: string) => change('PATCH', `/api-keys/${id(key)}`, { name })

export const deleteApiKey = (key: string) => change('DELETE', `/api-keys/${id(key)}`)

export const listSuppressions = (
  query: Cursor & { origin: string; search: string },
  limit: number,
  signal?: AbortSignal,
) => read<Static<typeof SuppressionList>>(addQueryString('/suppressions', { limit, ...query }), signal)

/** Returns the suppression of an address or with an id; null if there is none. */
export async function findSuppression(which: string, signal?: AbortSignal): Promise<Suppression | null> {
  try {
    return await read<Suppression>(`/suppressions/${id(which)}`, signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** URL of a download of the suppression list. */
export const suppressionsExportUrl = (query: { origin: string; search: string }) =>
  addQueryString('/suppressions/export', query)

/** Imports a CSV list. With `preview`, returns what would be imported and changes nothing. */
export const importSuppressions = async (body: Static<typeof ImportSuppressions>) =>
  (await (await request('/suppressions/import', { method: 'POST', body })).json()) as SuppressionImport

/** Adds addresses to the suppression list, at most 100 per call. */
export const addSuppressions = (emails: readonly string[]) =>
  change('POST', '/suppressions/batch/add', { emails })

/** Removes suppressions, at most 100 per call. */
export const removeSuppressions = (ids: readonly string[]) =>
  change('POST', '/suppressions/batch/remove', { ids })

export const removeSuppression = (suppression: string) => change('DELETE', `/suppressions/${id(suppression)}`)

/** Lists requests; with `email_id`, only those that created the email. */
export const listLogs = (query: Cursor & { email_id: string }, limit: number, signal?: AbortSignal) =>
  read<LogList>(addQueryString('/logs', { limit, ...query }), signal)

/** Loads a chunk of search results; `after` is the `next` of the previous chunk. */
export const searchLogs = (
  conditions: LogConditions,
  after: string | null,
  limit: number,
  signal?: AbortSignal,
) => read<LogSearch>(addQueryString('/logs/search', { ...conditions, limit, after }), signal)

export const getLog = (log: string, signal?: AbortSignal) => read<Log>(`/logs/${id(log)}`, signal)

export const getUsage = (signal?: AbortSignal) => read<Usage>('/usage', signal)

export const getUsageHistory = (signal?: AbortSignal) => read<UsageHistory>('/usage/history', signal)

export const listSandboxMessages = (signal?: AbortSignal) =>
  read<SandboxMessageList>('/sandbox/messages?limit=100', signal)

export const getSandboxMessage = (message: string, signal?: AbortSignal) =>
  read<SandboxMessage>(`/sandbox/messages/${id(message)}`, signal)

export const listWebhooks = (signal?: AbortSignal) => read<Static<typeof WebhookList>>('/webhooks', signal)

export const getWebhook = (webhook: string, signal?: AbortSignal) =>
  read<Webhook>(`/webhooks/${id(webhook)}`, signal)

export const createWebhook = (body: Static<typeof CreateWebhook>) =>
  change<Static<typeof WebhookCreated>>('POST', '/webhooks', body)

export const updateWebhook = (webhook: string, body: Static<typeof UpdateWebhook>) =>
  change('PATCH', `/webhooks/${id(webhook)}`, body)

export const deleteWebhook = (webhook: string) => change('DELETE', `/webhooks/${id(webhook)}`)

export const rotateWebhookSecret = (webhook: string) =>
  change('POST', `/webhooks/${id(webhook)}/signing-secret/rotate`)

/** Sends a test event. Resolves when the endpoint has responded or timed out. */
export const pingWebhook = (webhook: string) => change<WebhookPinged>('POST', `/webhooks/${id(webhook)}/ping`)

/** Sends the events of a time range again. */
export const replayWebhook = (webhook: string, range: Static<typeof ReplayWebhook>) =>
  change<Static<typeof WebhookReplayed>>('POST', `/webhooks/${id(webhook)}/replay`, range)

export const listWebhookEvents = (
  webhook: string,
  query: Cursor & { status: string },
  limit: number,
  signal?: AbortSignal,
) =>
  read<Static<typeof WebhookEventList>>(
    addQueryString(`/webhooks/${id(webhook)}/events`, { limit, ...query }),
    signal,
  )

export const getWebhookEvent = (webhook: string, event: string, signal?: AbortSignal) =>
  read<WebhookEvent>(`/webhooks/${id(webhook)}/events/${id(event)}`, signal)

export const listWebhookEventAttempts = (webhook: string, event: string, signal?: AbortSignal) =>
  read<Static<typeof WebhookAttemptList>>(
    `/webhooks/${id(webhook)}/events/${id(event)}/attempts?limit=100`,
    signal,
  )

export const replayWebhookEvent = (webhook: string, event: string) =>
  change('POST', `/webhooks/${id(webhook)}/events/${id(event)}/replay`)
