/** What apps asked of the API and what they were answered. */
import type { Page, PageArgs } from './page.ts'

/** One request as lists show it. */
export interface RequestLogSummary {
  /** The request's own id: what its answer carried as `x-request-id`. */
  id: string
  teamId: string
  apiKeyId: string
  method: string
  /** The path, without the query; of SMTP the listener and the command that was decided about, `smtp://587 MAIL FROM:<a@b.example>`. */
  endpoint: string
  /** The query string without secrets, bounded; null: none. */
  query: string | null
  /** The HTTP status, or the code of the SMTP reply. */
  status: number
  /** The enhanced status code of the SMTP reply (RFC 3463); null: none, or HTTP. */
  enhanced: string | null
  /** Why it was refused: the message of the HTTP error, or the text of the SMTP reply; null: it was not. */
  message: string | null
  durationMs: number
  ip: string
  userAgent: string | null
  createdAt: number
}

/** An element of a list. */
export interface ListedRequest extends RequestLogSummary {
  /** The body of a request over SMTP, which tells its envelope; null for the others. */
  smtpRequest: string | null
}

export interface RequestLog extends RequestLogSummary {
  /** JSON of an object, bounded and without secrets; null when there was none that could be read. */
  requestBody: string | null
  responseBody: string | null
  /** The emails that the request made, oldest first. */
  emailIds: string[]
}

/** What a request has to meet, all of it; what is absent is not asked. Texts are compared without regard to the case of ASCII letters. */
export interface LogFilter {
  /** It made this email. */
  emailId?: string | undefined
  /** One of these HTTP methods, or SMTP. */
  methods?: readonly string[] | undefined
  /** Its answer is in one of these ranges, both ends included, … */
  statuses?: readonly { from: number; to: number }[] | undefined
  /** … or has one of these enhanced codes, `5.7.1`; `5.7.x` stands for any detail. */
  enhanced?: readonly string[] | undefined
  /** Id or name of the API key. */
  apiKey?: string | undefined
  /** Stands in the path, the query or the SMTP command. */
  endpoint?: string | undefined
  ip?: string | undefined
  /** Stands in what the program calls itself. */
  userAgent?: string | undefined
  /** At or after this time, and before that one (Unix milliseconds). */
  since?: number | undefined
  until?: number | undefined
}

/** One stretch of a search, newest first. */
export interface LogsFound {
  items: ListedRequest[]
  /** Where to go on: older than this id. Null: everything was looked at. */
  next: string | null
}

export interface LogStorage {
  /** Keeps requests, many at once. */
  saveLogs(args: { logs: RequestLog[] }, now: number): Promise<void>
  /** With `emailId`, the request that made that email. */
  listLogs(args: PageArgs & { emailId?: string | undefined }, now: number): Promise<Page<ListedRequest>>
  /**
   * Looks at some thousands of requests at most, so that other questions need not wait long: it may find fewer than `limit`,
   * or none, and have more to look at.
   */
  searchLogs(
    args: { teamId: string; filter: LogFilter; limit: number; after?: string | undefined },
    now: number,
  ): Promise<LogsFound>
  getLog(args: { teamId: string; id: string }, now: number): Promise<RequestLog | undefined>
  /** Removes at most `most` requests from before `before`, oldest first; returns how many. */
  purgeLogs(args: { before: number; most: number }, now: number): Promise<number>
}
