import type { Step } from '../mail/transcript.ts'

const second = 1000
const minute = 60 * second

/**
 * How long each step may take, in milliseconds. From `greeting` on these are the timeouts of RFC 5321 §4.5.3.2, which are
 * least values: a busy server may take them.
 */
export const DEADLINES: Record<Exclude<Step['name'], 'resolve' | 'policy'>, number> = {
  // Ours; the RFC has none. A host that does not answer in 30 seconds is down, and others wait for their turn.
  connect: 30 * second,
  greeting: 5 * minute, // §4.5.3.2.1
  ehlo: 5 * minute,
  starttls: 2 * minute,
  tls: minute,
  rset: 5 * minute, // the RFC has none of its own; as for the commands that change as little
  mail: 5 * minute, // §4.5.3.2.2
  rcpt: 5 * minute, // §4.5.3.2.3
  data: 2 * minute, // §4.5.3.2.4
  body: 10 * minute, // §4.5.3.2.6, from the final dot
  quit: 5 * second,
}

/** After the answer to QUIT the server closes (RFC 5321 §4.1.1.10); this long is waited for that, in milliseconds. */
export const CLOSING = second

/** One block of the body must be taken within this time (RFC 5321 §4.5.3.2.5). */
export const BLOCK_DEADLINE = 3 * minute

/** An attempt begins nothing new after this time, all hosts together. */
export const ATTEMPT_DEADLINE = 25 * minute

/** The longest attempt: a final dot may come late, and its answer has its time all the same. */
export const LONGEST_ATTEMPT = ATTEMPT_DEADLINE + DEADLINES.body
