import { Type, type Static } from 'typebox'
import { Id, kind, listOf, Nullable, Timestamp } from './shared.ts'

const summary = {
  id: Id,
  received_at: Timestamp,
  mail_from: Type.String({ description: 'The return path of the envelope; empty for a report.' }),
  rcpt_to: Type.Array(Type.String(), { description: 'The recipients of the envelope.' }),
  from: Type.String({ description: 'The From field.' }),
  to: Type.String({ description: 'The To field.' }),
  subject: Type.String({ description: 'The subject.' }),
  size: Type.Integer({ description: 'Bytes of the message.' }),
  tls: Nullable(Type.String(), { description: 'Protocol version, null for plain text.' }),
  dkim: Type.String({ description: 'What an independent verifier says of DKIM: `pass`, `fail`, `none`, …' }),
  spf: Type.String({ description: 'What it says of SPF.' }),
  dmarc: Type.String({ description: 'What it says of DMARC.' }),
}

/** An element of GET /sandbox/messages. */
export const SandboxMessageSummary = Type.Object(summary, {
  description: 'A message that was caught, without its text.',
})
export type SandboxMessageSummary = Static<typeof SandboxMessageSummary>
export const SandboxMessageList = listOf(SandboxMessageSummary, 'caught messages')
export type SandboxMessageList = Static<typeof SandboxMessageList>

/** GET /sandbox/messages/:id */
export const SandboxMessage = Type.Object(
  {
    object: kind('sandbox_message'),
    ...summary,
    html: Nullable(Type.String(), { description: 'Its html; null: none.' }),
    text: Nullable(Type.String(), { description: 'Its plain text; null: none.' }),
    authentication_results: Nullable(Type.String(), {
      description: 'What a receiver would write of it in front of the message (RFC 8601); null: not known.',
    }),
    source: Type.String({ description: 'The message as it arrived, at most the first megabyte.' }),
  },
  { description: 'A message that was caught.' },
)
export type SandboxMessage = Static<typeof SandboxMessage>
