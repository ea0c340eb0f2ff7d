/** Idempotency and responses of the sending endpoints. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  dropHeaders,
  computeFingerprint,
  parseIdempotencyKey,
  type AcceptResult,
  type RequestIdentity,
} from '../intake/intake.ts'
import { computeBodyDigest } from '../mail/json-body.ts'

/**
 * Returns the data that identifies a repeated request. Refuses: `invalid_idempotency_key`.
 * @param scope method and path; aliases use the path of the first (`POST /emails`)
 * @param extra anything besides the body that affects the response, such as a header field
 */
export function identifyRequest(
  { headers, body, bodyDigest }: FastifyRequest,
  scope: string,
  extra = '',
): RequestIdentity {
  const idempotencyKey = parseIdempotencyKey(headers['idempotency-key'])
  if (idempotencyKey === null) return { idempotencyKey, scope, fingerprint: '' }
  return {
    idempotencyKey,
    scope,
    fingerprint: computeFingerprint(bodyDigest ?? computeBodyDigest(body), extra),
  }
}

/** Sets the header fields of an accepted request's response (reference: wire format §4). */
export function setAcceptedHeaders(reply: FastifyReply, { ids, replayed, used }: AcceptResult): void {
  reply.request.accepted = ids
  setQuotaHeaders(reply, used)
  if (replayed) void reply.header('idempotent-replayed', 'true')
}

/** Maximum number of field names per log line, enough for any mail framework. */
const MOST_DROPPED = 20

/** Sets the header fields with the team's quota usage, named as in the hosted service. */
export function setQuotaHeaders(reply: FastifyReply, { daily, monthly }: AcceptResult['used']): void {
  void reply.header('x-resend-monthly-quota', monthly)
  if (daily !== null) void reply.header('x-resend-daily-quota', daily)
}

/** Removes dropped headers from emails, and lists them in the request's log line. */
export function dropHeadersAndLog({ about }: FastifyRequest, emails: readonly unknown[]): void {
  const dropped = new Set(emails.flatMap(dropHeaders))
  if (dropped.size > 0) about.dropped_headers = [...dropped].slice(0, MOST_DROPPED)
}
