import { Type, type Static } from 'typebox'
import { Id, listOf, Nullable, Timestamp } from './shared.ts'

const summary = {
  id: Id,
  received_at: Timestamp,
  /** Envelope. */
  mail_from: Type.String(),
  rcpt_to: Type.Array(Type.String()),
  /** From the header. */
  from: Type.String(),
  to: Type.String(),
  subject: Type.String(),
  size: Type.Integer(),
  tls: Nullable(Type.String({ description: 'Protocol version, null for plain text.' })),
  /** Verdicts of an independent verifier: `pass`, `fail`, `none`, … */
  dkim: Type.String(),
  spf: Type.String(),
  dmarc: Type.String(),
}

/** An element of GET /sandbox/messages. */
export const SandboxMessageSummary = Type.Object(summary)
export type SandboxMessageSummary = Static<typeof SandboxMessageSummary>
export const SandboxMessageList = listOf(SandboxMessageSummary)
export type SandboxMessageList = Static<typeof SandboxMessageList>

/** GET /sandbox/messages/:id */
export const SandboxMessage = Type.Object({
  object: Type.Literal('sandbox_message'),
  ...summary,
  html: Nullable(Type.String()),
  text: Nullable(Type.String()),
  /** The message as it arrived, at most the first megabyte. */
  source: Type.String(),
})
export type SandboxMessage = Static<typeof SandboxMessage>
