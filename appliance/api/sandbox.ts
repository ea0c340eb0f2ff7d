import { Type, type Static } from 'typebox'
import { array, integer, kind, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { operationsIn } from './operation.ts'
import { byId, limit, query } from './parameters.ts'

const summary = {
  id: Id,
  received_at: Timestamp,
  mail_from: string('The envelope sender; empty for a bounce.'),
  rcpt_to: array(Type.String(), 'The envelope recipients.'),
  from: string('The From field.'),
  to: string('The To field.'),
  subject: string('The subject.'),
  size: integer('Size of the message in bytes.'),
  tls: Nullable(Type.String(), 'TLS version; null: no TLS.'),
  dkim: string('DKIM result of an independent verifier: `pass`, `fail`, `none`, …'),
  spf: string('SPF result of the verifier.'),
  dmarc: string('DMARC result of the verifier.'),
}

export const SandboxMessageSummary = object('A captured message, without its content.', summary)
export type SandboxMessageSummary = Static<typeof SandboxMessageSummary>
export const SandboxMessageList = listOf(SandboxMessageSummary, 'captured messages')
export type SandboxMessageList = Static<typeof SandboxMessageList>

export const SandboxMessage = object('A captured message.', {
  object: kind('sandbox_message'),
  ...summary,
  html: Nullable(Type.String(), 'The HTML; null: none.'),
  text: Nullable(Type.String(), 'The plain text; null: none.'),
  authentication_results: Nullable(
    Type.String(),
    'The Authentication-Results field that a receiver would add (RFC 8601); null: unknown.',
  ),
  source: string('The source of the message, at most the first megabyte.'),
})
export type SandboxMessage = Static<typeof SandboxMessage>

const operation = operationsIn('Sandbox')

export const listSandboxMessages = operation('GET /sandbox/messages', {
  summary: 'List captured messages',
  querystring: query({ limit }),
  response: { 200: SandboxMessageList },
})
export const getSandboxMessage = operation('GET /sandbox/messages/:id', {
  summary: 'Get a captured message',
  params: byId,
  response: { 200: SandboxMessage },
})
