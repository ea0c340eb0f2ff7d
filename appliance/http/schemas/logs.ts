import { Type, type Static } from 'typebox'
import { Id, listOf, literals, Nullable, Timestamp } from './shared.ts'

const summary = {
  id: Type.String({
    format: 'uuid',
    description: 'The id of the request: its answer carried it as `x-request-id`.',
  }),
  created_at: Timestamp,
  endpoint: Type.String({
    description: 'The path that was asked for, without its query.',
    examples: ['/emails'],
  }),
  method: literals(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD']),
  response_status: Type.Integer({ description: 'The HTTP status of the answer.', examples: [200] }),
  user_agent: Nullable(Type.String({ examples: ['resend-node:6.38.0'] })),
  api_key_id: Type.String({ format: 'uuid', description: 'The key that was used.' }),
  duration_ms: Type.Integer({ description: 'From the first byte of the request to the last of the answer.' }),
  ip: Type.String({ description: 'Where the request came from.', examples: ['192.0.2.7'] }),
}

/** An element of GET /logs. The last three fields are ours. */
export const LogSummary = Type.Object(summary)
export type LogSummary = Static<typeof LogSummary>
export const LogList = listOf(LogSummary)
export type LogList = Static<typeof LogList>

const Body = Nullable(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Without secrets and files, at most 16 KiB; what was left out is said in square brackets. An array is under `data`.',
  }),
)

/** GET /logs/:id */
export const Log = Type.Object({
  object: Type.Literal('log'),
  ...summary,
  request_body: Body,
  response_body: Body,
  email_ids: Type.Array(Id, { description: 'The emails that this request made.' }),
})
export type Log = Static<typeof Log>
