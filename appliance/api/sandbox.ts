import { Type, type Static } from 'typebox'
import { Id, kind, listOf, Nullable, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { limit, path, pathId, query } from './parameters.ts'

const summary = {
  id: Id,
  received_at: Timestamp,
  mail_from: Type.String({ description: 'The envelope sender; empty for a bounce.' }),
  rcpt_to: Type.Array(Type.String(), { description: 'The envelope recipients.' }),
  from: Type.String({ description: 'The From field.' }),
  to: Type.String({ description: 'The To field.' }),
  subject: Type.String({ description: 'The subject.' }),
  size: Type.Integer({ description: 'Size of the message in bytes.' }),
  tls: Nullable(Type.String(), { description: 'TLS version; null: no TLS.' }),
  dkim: Type.String({ description: 'DKIM result of an independent verifier: `pass`, `fail`, `none`, …' }),
  spf: Type.String({ description: 'SPF result of the verifier.' }),
  dmarc: Type.String({ description: 'DMARC result of the verifier.' }),
}

/** An element of GET /sandbox/messages. */
export const SandboxMessageSummary = Type.Object(summary, {
  description: 'A captured message, without its content.',
})
export type SandboxMessageSummary = Static<typeof SandboxMessageSummary>
export const SandboxMessageList = listOf(SandboxMessageSummary, 'captured messages')
export type SandboxMessageList = Static<typeof SandboxMessageList>

/** GET /sandbox/messages/:id */
export const SandboxMessage = Type.Object(
  {
    object: kind('sandbox_message'),
    ...summary,
    html: Nullable(Type.String(), { description: 'The HTML; null: none.' }),
    text: Nullable(Type.String(), { description: 'The plain text; null: none.' }),
    authentication_results: Nullable(Type.String(), {
      description: 'The Authentication-Results field that a receiver would add (RFC 8601); null: unknown.',
    }),
    source: Type.String({ description: 'The source of the message, at most the first megabyte.' }),
  },
  { description: 'A captured message.' },
)
export type SandboxMessage = Static<typeof SandboxMessage>

const operation = operationsIn('Sandbox')

export const listSandboxMessages = operation('GET /sandbox/messages', {
  summary: 'List captured messages',
  querystring: query({ limit }),
  response: { 200: SandboxMessageList },
})
export const getSandboxMessage = operation('GET /sandbox/messages/:id', {
  summary: 'Get a captured message',
  params: path({ id: pathId }),
  response: { 200: SandboxMessage },
})
