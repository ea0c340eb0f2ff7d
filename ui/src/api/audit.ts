/** API calls for the audit log. */
import type { Static } from 'typebox'
import type { AuditConditions, AuditEntry, AuditList } from '../../../appliance/api/audit.ts'
import type { Cursor } from './calls.ts'
import { ApiError, read, addQueryString } from './client.ts'

export type { AuditEntry }

export const listAudit = (
  conditions: AuditConditions,
  { after, before }: Cursor,
  limit: number,
  signal?: AbortSignal,
) => read<Static<typeof AuditList>>(addQueryString('/audit', { ...conditions, after, before, limit }), signal)

/** Returns an audit entry; null if it doesn't exist or was deleted. */
export async function findAuditEntry(id: string, signal?: AbortSignal): Promise<AuditEntry | null> {
  try {
    return await read<AuditEntry>(`/audit/${encodeURIComponent(id)}`, signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** URL of a download with all matching entries. */
export const auditExportUrl = (conditions: AuditConditions) => addQueryString('/audit/export', conditions)
