/** How the sending endpoints ask for idempotence and answer: one way for all of them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  dropHeaders,
  fingerprintOf,
  readIdempotencyKey,
  type Accepted,
  type RequestName,
} from '../intake/intake.ts'
import { digestOf } from '../mail/json-body.ts'

/**
 * What makes a request the same as an earlier one. Refuses: `invalid_idempotency_key`.
 * @param scope method and path, aliases as the first of them (`POST /emails`)
 * @param extra what beside the body decides about the answer, such as a header field
 */
export function sameness(
  { headers, body, bodyDigest }: FastifyRequest,
  scope: string,
  extra = '',
): RequestName {
  const idempotencyKey = readIdempotencyKey(headers['idempotency-key'])
  if (idempotencyKey === null) return { idempotencyKey, scope, fingerprint: '' }
  return { idempotencyKey, scope, fingerprint: fingerprintOf(bodyDigest ?? digestOf(body), extra) }
}

/** Sets the header fields that go with an accepted request (reference: wire format §4). */
export function answerAccepted(reply: FastifyReply, { ids, replayed, used }: Accepted): void {
  reply.request.accepted = ids
  showUsed(reply, used)
  if (replayed) void reply.header('idempotent-replayed', 'true')
}

/** Field names in one log line: enough for any mail framework. */
const MOST_DROPPED = 20

/** Tells what the team has used of its quota, in the fields of the hosted service. */
export function showUsed(reply: FastifyReply, { daily, monthly }: Accepted['used']): void {
  void reply.header('x-resend-monthly-quota', monthly)
  if (daily !== null) void reply.header('x-resend-daily-quota', daily)
}

/** Takes the headers out of emails that they are accepted without, and names them in the log line of the request. */
export function dropAndNote({ about }: FastifyRequest, emails: readonly unknown[]): void {
  const dropped = new Set(emails.flatMap(dropHeaders))
  if (dropped.size > 0) about.dropped_headers = [...dropped].slice(0, MOST_DROPPED)
}
