import { Type, type Static } from 'typebox'
import { Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const summary = {
  id: Type.String({
    format: 'uuid',
    description: 'The id of the request: its answer carried it as `x-request-id`.',
  }),
  created_at: Timestamp,
  endpoint: Type.String({
    description:
      'The path without its query. Of SMTP, the port and the command that was decided about: `smtp://587 MAIL FROM:<a@example.com>`.',
    examples: ['/emails'],
  }),
  method: literals(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'SMTP'], {
    description: 'The HTTP method; SMTP: a message or a session of SMTP submission.',
  }),
  response_status: Type.Integer({
    description: 'The HTTP status of the answer, or the code of the SMTP reply.',
    examples: [200],
  }),
  user_agent: Nullable(Type.String({ examples: ['resend-node:6.38.0'] }), {
    description: 'The program that asked, as it calls itself; null: it does not.',
  }),
  api_key_id: Type.String({ format: 'uuid', description: 'The key that was used.' }),
  duration_ms: Type.Integer({ description: 'From the first byte of the request to the last of the answer.' }),
  ip: Type.String({ description: 'Where the request came from.', examples: ['192.0.2.7'] }),
  query: Nullable(Type.String({ examples: ['limit=10'] }), {
    description: 'The query string, at most 1000 characters, secrets removed; null: none.',
  }),
  enhanced_code: Nullable(Type.String({ examples: ['5.7.1'] }), {
    description: 'The enhanced status code of the SMTP reply (RFC 3463); null: none, or HTTP.',
  }),
  message: Nullable(Type.String(), {
    description: 'Why it was refused: the error message, or the text of the SMTP reply; null: it was not.',
  }),
  envelope: Nullable(
    Type.Object({
      mail_from: Type.String({ description: 'Empty for <>.' }),
      rcpt_to: Type.Array(Type.String(), { description: 'The first of the recipients that were taken.' }),
      recipients: Type.Integer({ description: 'How many were taken.' }),
    }),
    {
      description:
        'Who a message of SMTP was from and to (RFC 5321 §2.3.1); null: over HTTP, without one, or its body is not kept any more.',
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
    has_more: Type.Boolean({ description: 'Whether older requests were not looked at yet.' }),
    data: Type.Array(LogSummary, { description: 'Those that were found, newest first.' }),
    next: Nullable(Id, {
      description:
        'Where to go on: give it as `after`. It need not be a request of this page. Null: that was all.',
    }),
    looked_back_to: Nullable(Timestamp, {
      description: 'How far back was looked; null: as far as requests are kept.',
    }),
  },
  {
    description:
      'What a search found. It looks at a bounded number of requests at once, so a page may be short or empty and still not be the last.',
  },
)
export type LogSearch = Static<typeof LogSearch>

const body = (whose: string) =>
  Nullable(Type.Record(Type.String(), Type.Unknown()), {
    description: `The body of the ${whose} without secrets and files, at most 16 KiB; what was left out is said in square brackets. An array is under \`data\`. Null: there was none.`,
  })

/** GET /logs/:id */
export const Log = Type.Object(
  {
    object: kind('log'),
    ...summary,
    request_body: body('request'),
    response_body: body('answer'),
    email_ids: Type.Array(Id, { description: 'The emails that this request made.' }),
  },
  { description: 'A request and its answer.' },
)
export type Log = Static<typeof Log>
