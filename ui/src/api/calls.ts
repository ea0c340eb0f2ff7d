/** Every call the dashboard makes. The types are the server's own; nothing is described twice. */
import type { Static } from 'typebox'
import type { ApiKeyCreated, ApiKeyList, CreateApiKey } from '../../../appliance/http/schemas/api-keys.ts'
import type {
  CreateDomain,
  Domain,
  DomainList,
  UpdateDomain,
} from '../../../appliance/http/schemas/domains.ts'
import type { AttachmentList } from '../../../appliance/http/schemas/attachments.ts'
import type { Email, EmailList, EmailShared } from '../../../appliance/http/schemas/emails.ts'
import type { Log, LogList } from '../../../appliance/http/schemas/logs.ts'
import type { SandboxMessage, SandboxMessageList } from '../../../appliance/http/schemas/sandbox.ts'
import type { Session, SignIn } from '../../../appliance/http/schemas/session.ts'
import type { Suppression, SuppressionList } from '../../../appliance/http/schemas/suppressions.ts'
import type { Timeline } from '../../../appliance/http/schemas/timeline.ts'
import type { Usage } from '../../../appliance/http/schemas/usage.ts'
import { ApiError, change, read, request } from './client.ts'

const id = encodeURIComponent

export const signIn = async (body: Static<typeof SignIn>): Promise<Session> =>
  (await (await request('/session', { method: 'POST', body })).json()) as Session

export const signOut = async (): Promise<void> => void (await request('/session', { method: 'DELETE' }))

export const getSession = () => read<Session>('/session')

/** Where a page of a list starts: older than `after`, newer than `before` (ids, exclusive), or at the newest. */
export interface Cursor {
  after?: string | null
  before?: string | null
}

/** A page of a list; what is empty or null is left out. */
function listPath(path: string, parameters: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value))
  return `${path}?${query}`
}

export const listEmails = (cursor: Cursor, limit: number, signal?: AbortSignal) =>
  read<EmailList>(listPath('/emails', { limit, ...cursor }), signal)

export const getEmail = (email: string, signal?: AbortSignal) => read<Email>(`/emails/${id(email)}`, signal)

export const getTimeline = (email: string, signal?: AbortSignal) =>
  read<Timeline>(`/emails/${id(email)}/timeline`, signal)

/** Path of the message as it was sent, for reading and for downloading. */
export const sourcePath = (email: string) => `/emails/${id(email)}/source`

export const getSource = async (email: string, signal?: AbortSignal): Promise<Uint8Array> => {
  const answer = await request(sourcePath(email), signal ? { signal } : {})
  return new Uint8Array(await answer.arrayBuffer())
}

/** `at` in ISO 8601. */
export const rescheduleEmail = (email: string, at: string) =>
  change('PATCH', `/emails/${id(email)}`, { scheduled_at: at })

export const cancelEmail = (email: string) => change('POST', `/emails/${id(email)}/cancel`)

/** A link that shows the email to whoever has it, for as long as `span` says (`1h`). */
export const shareEmail = (email: string, span: string) =>
  change<Static<typeof EmailShared>>('POST', `/emails/${id(email)}/share`, { expires_in: span })

export const listAttachments = (email: string, signal?: AbortSignal) =>
  read<Static<typeof AttachmentList>>(`/emails/${id(email)}/attachments?limit=100`, signal)

export const listDomains = (signal?: AbortSignal) => read<DomainList>('/domains', signal)

export const getDomain = (domain: string, signal?: AbortSignal) =>
  read<Domain>(`/domains/${id(domain)}`, signal)

export const verifyDomain = async (domain: string): Promise<void> =>
  void (await request(`/domains/${id(domain)}/verify`, { method: 'POST' }))

export const createDomain = (body: CreateDomain) => change<Domain>('POST', '/domains', body)

export const updateDomain = (domain: string, body: UpdateDomain) =>
  change('PATCH', `/domains/${id(domain)}`, body)

export const deleteDomain = (domain: string) => change('DELETE', `/domains/${id(domain)}`)

/** Begins the rotation of the DKIM keys: a new key waits for its record. */
export const rotateDkim = (domain: string) => change('POST', `/domains/${id(domain)}/dkim/rotate`)

export const listApiKeys = (signal?: AbortSignal) => read<Static<typeof ApiKeyList>>('/api-keys', signal)

export const createApiKey = (body: Static<typeof CreateApiKey>) =>
  change<Static<typeof ApiKeyCreated>>('POST', '/api-keys', body)

export const renameApiKey = (key: string, name: string) => change('PATCH', `/api-keys/${id(key)}`, { name })

export const deleteApiKey = (key: string) => change('DELETE', `/api-keys/${id(key)}`)

export const listSuppressions = (query: Cursor & { origin: string }, limit: number, signal?: AbortSignal) =>
  read<Static<typeof SuppressionList>>(listPath('/suppressions', { limit, ...query }), signal)

/** The suppression of an address or with an id; null when there is none. */
export async function findSuppression(which: string, signal?: AbortSignal): Promise<Suppression | null> {
  try {
    return await read<Suppression>(`/suppressions/${id(which)}`, signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** At most 100 at once. */
export const addSuppressions = (emails: readonly string[]) =>
  change('POST', '/suppressions/batch/add', { emails })

export const removeSuppression = (suppression: string) => change('DELETE', `/suppressions/${id(suppression)}`)

/** With `email_id` only the requests that made that email. */
export const listLogs = (query: Cursor & { email_id: string }, limit: number, signal?: AbortSignal) =>
  read<LogList>(listPath('/logs', { limit, ...query }), signal)

export const getLog = (log: string, signal?: AbortSignal) => read<Log>(`/logs/${id(log)}`, signal)

export const getUsage = (signal?: AbortSignal) => read<Usage>('/usage', signal)

export const listSandboxMessages = (signal?: AbortSignal) =>
  read<SandboxMessageList>('/sandbox/messages?limit=100', signal)

export const getSandboxMessage = (message: string, signal?: AbortSignal) =>
  read<SandboxMessage>(`/sandbox/messages/${id(message)}`, signal)
