/** Why an email waited before an attempt. */
export const PAST_WAIT_REASONS = [
  'scheduled', // its sender chose a later time
  'retry', // the pause after a temporary failure
  'greylisting', // the same, after a server that asks unknown senders to come again
  'interrupted', // a restart ended the attempt before
  'held', // an operator held it
  'paused', // the lane was paused
  'rate', // the rate limit of the lane
  'warm_up', // the daily share of a source that warms up
  'connections', // all connections of the lane were in use
  'restart', // the service was not running
  'queue', // other mail went first
  'unknown', // from before reasons were recorded
] as const
export type PastWaitReason = (typeof PAST_WAIT_REASONS)[number]

/** Waits under a second are not worth a word (milliseconds). */
export const SHORTEST_WAIT = 1000

/** Why an attempt began later than it was due. */
export interface Waited {
  /** When it was due (Unix milliseconds). */
  since: number
  reason: PastWaitReason
  /** Completes "Waited 35 s: …". */
  why: string
}
