import { Type, type Static } from 'typebox'
import { array, boolean, integer, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import type { ListedRequest, RequestLog, RequestLogSummary } from '../storage/storage.ts'
import { timestamp } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import {
  condition,
  id,
  idSchema,
  page,
  path,
  pathUuid,
  query,
  parseId,
  parseInstant,
  search,
  searchPage,
  type RawParameters,
} from './parameters.ts'
import { refuse } from '../mail/refusals.ts'
import type { LogFilter } from '../storage/storage.ts'

const summary = {
  id: string('The id of the request, which the response had as `x-request-id`.', { format: 'uuid' }),
  created_at: Timestamp,
  endpoint: string(
    'The path without its query. For SMTP: the port and the command that the reply answered, such as `smtp://587 MAIL FROM:<a@example.com>`.',
    { examples: ['/emails'] },
  ),
  method: literals(
    ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'SMTP'],
    'The HTTP method. SMTP: a message or session of SMTP submission.',
  ),
  response_status: integer('The HTTP status, or the SMTP reply code.', { examples: [200] }),
  user_agent: Nullable(
    Type.String({ examples: ['resend-node:6.38.0'] }),
    'The client, from its User-Agent; null: none.',
  ),
  api_key_id: idSchema('The API key of the request.'),
  duration_ms: integer('From the first byte of the request to the last byte of the response.'),
  ip: string('The IP address of the client.', { examples: ['192.0.2.7'] }),
  query: Nullable(
    Type.String({ examples: ['limit=10'] }),
    'The query string, at most 1000 characters, with secrets removed; null: none.',
  ),
  enhanced_code: Nullable(
    Type.String({ examples: ['5.7.1'] }),
    'The enhanced status code of the SMTP reply (RFC 3463); null: none, or HTTP.',
  ),
  message: Nullable(
    Type.String(),
    'Why it was refused: the error message or SMTP reply text; null: not refused.',
  ),
  envelope: Nullable(
    Type.Object({
      mail_from: string('Empty for <>.'),
      rcpt_to: array(Type.String(), 'The first accepted recipients.'),
      recipients: integer('Number of accepted recipients.'),
    }),
    'The envelope of an SMTP message (RFC 5321 §2.3.1); null: HTTP, no message, or no longer stored.',
  ),
}

/** An element of GET /logs. The hosted API lacks the fields from `api_key_id` on. */
export const LogSummary = object('A request, without the bodies.', summary)
export type LogSummary = Static<typeof LogSummary>
export const LogList = listOf(LogSummary, 'requests')
export type LogList = Static<typeof LogList>

export const LogSearch = object(
  'Search results. Each request scans a limited number of log entries, so a page can be short or empty without being the last.',
  {
    object: kind('list'),
    has_more: boolean('Whether there are older requests that were not searched yet.'),
    data: array(LogSummary, 'Matching requests, newest first.'),
    next: Nullable(
      Id,
      'Cursor for the next page: pass it as `after`. It may be the id of a request that is not on this page. Null: no more results.',
    ),
    looked_back_to: Nullable(Timestamp, 'How far back this request searched; null: all logged requests.'),
  },
)
export type LogSearch = Static<typeof LogSearch>

const body = (whose: string) =>
  Nullable(
    Type.Record(Type.String(), Type.Unknown()),
    `The body of the ${whose} without secrets and files, at most 16 KiB. Omissions are noted in square brackets. An array is under \`data\`. Null: no body.`,
  )

export const Log = object('A request and its response.', {
  object: kind('log'),
  ...summary,
  request_body: body('request'),
  response_body: body('answer'),
  email_ids: array(Id, 'The emails that this request created.'),
})
export type Log = Static<typeof Log>

/** The methods of logged requests: those of HTTP, and messages or sessions over SMTP. */
const LOG_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'SMTP'] as const

const methods = (given: string, parameter: string): string[] =>
  wordsOf(given).map((word) => {
    const found = LOG_METHODS.find((method) => method === word.toUpperCase())
    if (found === undefined)
      throw refuse('invalid_parameter', {
        parameter,
        expected: `a comma-separated list of ${LOG_METHODS.join(', ')}`,
      })
    return found
  })

const wordsOf = (given: string): string[] => given.split(',').map((word) => word.trim())

/**
 * Reads a status filter: `422` is an HTTP status or SMTP reply code, `4xx` any from 400 to 499, `5.7.1` and `5.7.x` are
 * enhanced codes (RFC 3463).
 */
function statuses(given: string, parameter: string): Required<Pick<LogFilter, 'statuses' | 'enhanced'>> {
  const all = wordsOf(given)
  const enhanced = all.filter((word) => /^[245]\.\d{1,3}\.(\d{1,3}|x)$/i.test(word))
  const statuses = all
    .filter((word) => !enhanced.includes(word))
    .map((word) => {
      const [, digit, rest = ''] = /^([1-5])(xx|\d\d)$/i.exec(word) ?? []
      if (digit === undefined)
        throw refuse('invalid_parameter', {
          parameter,
          expected: 'comma-separated statuses such as `422`, `5xx` or `5.7.1`',
        })
      if (rest.toLowerCase() !== 'xx') return { from: Number(word), to: Number(word) }
      return { from: Number(digit) * 100, to: Number(digit) * 100 + 99 }
    })
  return { statuses, enhanced: enhanced.map((code) => code.toLowerCase()) }
}

const OF_EMAIL = 'Only the request that created this email, and its repetitions.'

const conditions = {
  method: condition(string(`Comma-separated. Only these methods: ${LOG_METHODS.join(', ')}.`), methods),
  status: condition(
    string(
      'Comma-separated. Only these statuses: an HTTP status or SMTP reply code such as `422`, `4xx` for 400 to 499, or an enhanced code such as `5.7.1` or `5.7.x`.',
    ),
    statuses,
  ),
  key: condition(string('Only requests with this API key: its id or name.')),
  endpoint: condition(string('Only requests whose path, query or SMTP command contains this text.')),
  ip: condition(string('Only requests from this IP address.')),
  user_agent: condition(string('Only requests from clients whose name contains this text.')),
  email_id: condition(idSchema(OF_EMAIL), parseId),
  since: condition(string('Only requests at or after this time (ISO 8601).'), parseInstant),
  until: condition(string('Only requests before this time (ISO 8601).'), parseInstant),
}
/** The filter parameters in a request. */
export type LogConditions = RawParameters<typeof conditions>

/** Converts the parameters to a filter. */
export const parseLogFilter = ({
  method,
  status,
  key,
  user_agent,
  email_id,
  ...same
}: Conditions): LogFilter => ({
  ...same,
  ...status,
  methods: method,
  apiKey: key,
  userAgent: user_agent,
  emailId: email_id,
})

type Conditions = { [Name in keyof typeof conditions]?: ReturnType<(typeof conditions)[Name]['read']> }

const operation = operationsIn('Logs')

export const listLogs = operation('GET /logs', {
  summary: 'List requests',
  querystring: query({ ...page, email_id: id(OF_EMAIL) }),
  response: { 200: LogList },
})
export const searchLogs = operation('GET /logs/search', {
  summary: 'Search requests',
  description:
    'All conditions must match. Each request scans a limited number of log entries, newest first, so a page can be short or empty. To get the next page, pass `next` as `after` until it is null. Not part of the hosted API.',
  querystring: search({ ...searchPage, ...conditions }, Object.keys(conditions)),
  response: { 200: LogSearch },
})
export const getLog = operation('GET /logs/:id', {
  summary: 'Get a request and its response',
  description: 'Bodies are without secrets and files, at most 16 KiB each.',
  params: path({ id: pathUuid('The id.', 'logId') }),
  response: { 200: Log },
})

/** Formats an element of GET /logs. */
export const presentListedLog = (log: ListedRequest): LogSummary => summaryOf(log, log.smtpRequest)

function summaryOf(log: RequestLogSummary, smtpRequest: string | null): LogSummary {
  return {
    id: log.id,
    created_at: timestamp(log.createdAt),
    endpoint: log.endpoint,
    method: log.method as LogSummary['method'],
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

/** Formats the response of GET /logs/:id. */
export function presentLog(log: RequestLog): Log {
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

/** Maximum number of recipients in a list; a single request has all. */
const FEW = 3

function envelopeOf(smtpRequest: string | null): LogSummary['envelope'] {
  const { mail_from: from, rcpt_to: to } = objectOrNull(smtpRequest) ?? {}
  if (typeof from !== 'string' || !Array.isArray(to)) return null
  return { mail_from: from, rcpt_to: to.slice(0, FEW) as string[], recipients: to.length }
}
