import type { Step } from '../mail/transcript.ts'

const second = 1000
const minute = 60 * second

/**
 * Timeouts of each step, in milliseconds. From `greeting` on, they are those of RFC 5321 §4.5.3.2, which are minimums:
 * a busy server may need them.
 */
export const DEADLINES: Record<Exclude<Step['name'], 'resolve' | 'policy'>, number> = {
  // Our own choice, because the RFC specifies no connection timeout. A host that doesn't respond in 30 seconds is down,
  // and other mail is waiting.
  connect: 30 * second,
  greeting: 5 * minute, // §4.5.3.2.1
  ehlo: 5 * minute,
  starttls: 2 * minute,
  tls: minute,
  rset: 5 * minute, // not in the RFC; as for similar commands
  mail: 5 * minute, // §4.5.3.2.2
  rcpt: 5 * minute, // §4.5.3.2.3
  data: 2 * minute, // §4.5.3.2.4
  body: 10 * minute, // §4.5.3.2.6, counted from the final dot
  quit: 5 * second,
}

/** How long to wait for the server to close after the reply to QUIT (RFC 5321 §4.1.1.10), in milliseconds. */
export const CLOSE_DEADLINE = second

/** Timeout for one block of the body (RFC 5321 §4.5.3.2.5). */
export const BLOCK_DEADLINE = 3 * minute

/** Time limit for an attempt across all hosts, after which it starts nothing new. */
export const ATTEMPT_DEADLINE = 25 * minute

/**
 * Maximum duration of an attempt: a final dot may be sent just before the deadline, and its reply still gets its full
 * timeout (RFC 5321 §4.5.3.2.6).
 */
export const MAX_ATTEMPT_DURATION = ATTEMPT_DEADLINE + DEADLINES.body
