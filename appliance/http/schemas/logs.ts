import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const summary = {
  id: Type.String({
    format: 'uuid',
    description: 'The id of the request, which the response had as `x-request-id`.',
  }),
  created_at: Timestamp,
  endpoint: Type.String({
    description:
      'The path without its query. For SMTP: the port and the command that the reply answered, such as `smtp://587 MAIL FROM:<a@example.com>`.',
    examples: ['/emails'],
  }),
  method: literals(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'SMTP'], {
    description: 'The HTTP method. SMTP: a message or session of SMTP submission.',
  }),
  response_status: Type.Integer({
    description: 'The HTTP status, or the SMTP reply code.',
    examples: [200],
  }),
  user_agent: Nullable(Type.String({ examples: ['resend-node:6.38.0'] }), {
    description: 'The client, from its User-Agent; null: none.',
  }),
  api_key_id: Type.String({ format: 'uuid', description: 'The API key of the request.' }),
  duration_ms: Type.Integer({
    description: 'From the first byte of the request to the last byte of the response.',
  }),
  ip: Type.String({ description: 'The IP address of the client.', examples: ['192.0.2.7'] }),
  query: Nullable(Type.String({ examples: ['limit=10'] }), {
    description: 'The query string, at most 1000 characters, with secrets removed; null: none.',
  }),
  enhanced_code: Nullable(Type.String({ examples: ['5.7.1'] }), {
    description: 'The enhanced status code of the SMTP reply (RFC 3463); null: none, or HTTP.',
  }),
  message: Nullable(Type.String(), {
    description: 'Why it was refused: the error message or SMTP reply text; null: not refused.',
  }),
  envelope: Nullable(
    Type.Object({
      mail_from: Type.String({ description: 'Empty for <>.' }),
      rcpt_to: Type.Array(Type.String(), { description: 'The first accepted recipients.' }),
      recipients: Type.Integer({ description: 'Number of accepted recipients.' }),
    }),
    {
      description:
        'The envelope of an SMTP message (RFC 5321 §2.3.1); null: HTTP, no message, or no longer stored.',
    },
  ),
}

/** An element of GET /logs. The fields from `api_key_id` on are ours. */
export const LogSummary = Type.Object(summary, { description: 'A request, without the bodies.' })
export type LogSummary = Static<typeof LogSummary>
export const LogList = listOf(LogSummary, 'requests')
export type LogList = Static<typeof LogList>

/** GET /logs/search */
export const LogSearch = Type.Object(
  {
    object: kind('list'),
    has_more: Type.Boolean({ description: 'Whether there are older requests that were not searched yet.' }),
    data: Type.Array(LogSummary, { description: 'Matching requests, newest first.' }),
    next: Nullable(Id, {
      description:
        'Cursor for the next page: pass it as `after`. It may be the id of a request that is not on this page. Null: no more results.',
    }),
    looked_back_to: Nullable(Timestamp, {
      description: 'How far back this request searched; null: all logged requests.',
    }),
  },
  {
    description:
      'Search results. Each request scans a limited number of log entries, so a page can be short or empty without being the last.',
  },
)
export type LogSearch = Static<typeof LogSearch>

const body = (whose: string) =>
  Nullable(Type.Record(Type.String(), Type.Unknown()), {
    description: `The body of the ${whose} without secrets and files, at most 16 KiB. Omissions are noted in square brackets. An array is under \`data\`. Null: no body.`,
  })

/** GET /logs/:id */
export const Log = Type.Object(
  {
    object: kind('log'),
    ...summary,
    request_body: body('request'),
    response_body: body('answer'),
    email_ids: Type.Array(Id, { description: 'The emails that this request created.' }),
  },
  { description: 'A request and its response.' },
)
export type Log = Static<typeof Log>
