import type * as logs from '../http/schemas/logs.ts'
import type { ListedRequest, RequestLog, RequestLogSummary } from '../storage/storage.ts'
import { timestamp } from '../api/timestamp.ts'

/** An element of GET /logs. */
export const presentListedLog = (log: ListedRequest): logs.LogSummary => summaryOf(log, log.smtpRequest)

function summaryOf(log: RequestLogSummary, smtpRequest: string | null): logs.LogSummary {
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
    query: log.query,
    enhanced_code: log.enhanced,
    message: log.message,
    envelope: envelopeOf(smtpRequest),
  }
}

/** GET /logs/:id */
export function presentLog(log: RequestLog): logs.Log {
  return {
    object: 'log',
    ...summaryOf(log, log.method === 'SMTP' ? log.requestBody : null),
    request_body: objectOrNull(log.requestBody),
    response_body: objectOrNull(log.responseBody),
    email_ids: log.emailIds,
  }
}

const objectOrNull = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>)

/** Recipients that a list tells; the request itself has all. */
const FEW = 3

function envelopeOf(smtpRequest: string | null): logs.LogSummary['envelope'] {
  const { mail_from: from, rcpt_to: to } = objectOrNull(smtpRequest) ?? {}
  if (typeof from !== 'string' || !Array.isArray(to)) return null
  return { mail_from: from, rcpt_to: to.slice(0, FEW) as string[], recipients: to.length }
}
