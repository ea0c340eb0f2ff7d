/** Idempotency and responses of the sending endpoints. */
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
 * Returns the data that identifies a repeated request. Refuses: `invalid_idempotency_key`.
 * @param scope method and path; aliases use the path of the first (`POST /emails`)
 * @param extra anything besides the body that affects the response, such as a header field
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

/** Sets the header fields of an accepted request's response (reference: wire format §4). */
export function answerAccepted(reply: FastifyReply, { ids, replayed, used }: Accepted): void {
  reply.request.accepted = ids
  showUsed(reply, used)
  if (replayed) void reply.header('idempotent-replayed', 'true')
}

/** Maximum number of field names per log line, enough for any mail framework. */
const MOST_DROPPED = 20

/** Sets the header fields with the team's quota usage, named as in the hosted service. */
export function showUsed(reply: FastifyReply, { daily, monthly }: Accepted['used']): void {
  void reply.header('x-resend-monthly-quota', monthly)
  if (daily !== null) void reply.header('x-resend-daily-quota', daily)
}

/** Removes dropped headers from emails, and lists them in the request's log line. */
export function dropAndNote({ about }: FastifyRequest, emails: readonly unknown[]): void {
  const dropped = new Set(emails.flatMap(dropHeaders))
  if (dropped.size > 0) about.dropped_headers = [...dropped].slice(0, MOST_DROPPED)
}
