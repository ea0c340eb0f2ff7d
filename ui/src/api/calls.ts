/** Every call the dashboard makes. The types are the server's own; nothing is described twice. */
import type { Static } from 'typebox'
import type { Domain, DomainList } from '../../../appliance/http/schemas/domains.ts'
import type { Email, EmailList } from '../../../appliance/http/schemas/emails.ts'
import type { SandboxMessage, SandboxMessageList } from '../../../appliance/http/schemas/sandbox.ts'
import type { Session, SignIn } from '../../../appliance/http/schemas/session.ts'
import type { Timeline } from '../../../appliance/http/schemas/timeline.ts'
import { read, request } from './client.ts'

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

export function listEmails(cursor: Cursor, limit: number, signal?: AbortSignal): Promise<EmailList> {
  const query = new URLSearchParams({ limit: String(limit) })
  if (cursor.after) query.set('after', cursor.after)
  else if (cursor.before) query.set('before', cursor.before)
  return read(`/emails?${query}`, signal)
}

export const getEmail = (email: string, signal?: AbortSignal) => read<Email>(`/emails/${id(email)}`, signal)

export const getTimeline = (email: string, signal?: AbortSignal) =>
  read<Timeline>(`/emails/${id(email)}/timeline`, signal)

/** Path of the message as it was sent, for reading and for downloading. */
export const sourcePath = (email: string) => `/emails/${id(email)}/source`

export const getSource = async (email: string, signal?: AbortSignal): Promise<Uint8Array> => {
  const answer = await request(sourcePath(email), signal ? { signal } : {})
  return new Uint8Array(await answer.arrayBuffer())
}

export const listDomains = (signal?: AbortSignal) => read<DomainList>('/domains', signal)

export const getDomain = (domain: string, signal?: AbortSignal) =>
  read<Domain>(`/domains/${id(domain)}`, signal)

export const verifyDomain = async (domain: string): Promise<void> =>
  void (await request(`/domains/${id(domain)}/verify`, { method: 'POST' }))

export const listSandboxMessages = (signal?: AbortSignal) =>
  read<SandboxMessageList>('/sandbox/messages?limit=100', signal)

export const getSandboxMessage = (message: string, signal?: AbortSignal) =>
  read<SandboxMessage>(`/sandbox/messages/${id(message)}`, signal)
