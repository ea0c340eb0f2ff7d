/** What apps asked of the API and what they were answered. */
import type { Page, PageArgs } from './page.ts'

/** One request as lists show it. */
export interface RequestLogSummary {
  /** The request's own id: what its answer carried as `x-request-id`. */
  id: string
  teamId: string
  apiKeyId: string
  method: string
  /** The path, without the query. */
  endpoint: string
  status: number
  durationMs: number
  ip: string
  userAgent: string | null
  createdAt: number
}

export interface RequestLog extends RequestLogSummary {
  /** JSON of an object, bounded and without secrets; null when there was none that could be read. */
  requestBody: string | null
  responseBody: string | null
  /** The emails that the request made, oldest first. */
  emailIds: string[]
}

export interface LogStorage {
  /** Keeps requests, many at once. */
  saveLogs(args: { logs: RequestLog[] }, now: number): Promise<void>
  /** With `emailId`, the request that made that email. */
  listLogs(args: PageArgs & { emailId?: string | undefined }, now: number): Promise<Page<RequestLogSummary>>
  getLog(args: { teamId: string; id: string }, now: number): Promise<RequestLog | undefined>
  /** Removes at most `most` requests from before `before`, oldest first; returns how many. */
  purgeLogs(args: { before: number; most: number }, now: number): Promise<number>
}
