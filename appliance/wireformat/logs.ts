import type * as logs from '../http/schemas/logs.ts'
import type { RequestLog, RequestLogSummary } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'

/** An element of GET /logs. */
export function presentLogSummary(log: RequestLogSummary): logs.LogSummary {
  return {
    id: log.id,
    created_at: timestamp(log.createdAt),
    endpoint: log.endpoint,
    method: log.method as logs.LogSummary['method'],
    response_status: log.status,
    user_agent: log.userAgent,
    api_key_id: log.apiKeyId,
    duration_ms: log.durationMs,
    ip: log.ip,
  }
}

/** GET /logs/:id */
export function presentLog(log: RequestLog): logs.Log {
  return {
    object: 'log',
    ...presentLogSummary(log),
    request_body: objectOrNull(log.requestBody),
    response_body: objectOrNull(log.responseBody),
    email_ids: log.emailIds,
  }
}

const objectOrNull = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>)
