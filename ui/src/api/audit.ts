/** Calls about the audit log. */
import type { Static } from 'typebox'
import type { AuditEntry, AuditList } from '../../../appliance/api/audit.ts'
import { ApiError, read } from './client.ts'

export type { AuditEntry }

/** Which entries are meant; an empty text asks for nothing. */
export interface AuditConditions {
  actor: string
  action: string
  target: string
  since: string
  until: string
}

const asked = (conditions: Partial<AuditConditions>) =>
  new URLSearchParams(Object.entries(conditions).filter(([, value]) => value !== ''))

export const listAudit = (
  conditions: AuditConditions,
  page: { after: string | null; before: string | null; limit: number },
  signal?: AbortSignal,
) => {
  const query = asked(conditions)
  query.set('limit', String(page.limit))
  if (page.after !== null) query.set('after', page.after)
  if (page.before !== null) query.set('before', page.before)
  return read<Static<typeof AuditList>>(`/audit?${query}`, signal)
}

/** Null where there is no such entry any more. */
export async function findAuditEntry(id: string, signal?: AbortSignal): Promise<AuditEntry | null> {
  try {
    return await read<AuditEntry>(`/audit/${encodeURIComponent(id)}`, signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** Where all that meets the conditions comes as a file. */
export const auditFile = (conditions: AuditConditions) => `/audit/export?${asked(conditions)}`
