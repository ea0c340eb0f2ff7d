/** Decides what to do with a response of the hosted service: use it, retry later, or stop. Pure. */

/** A response, or the reason why there was none. */
export type HostedResponse =
  { kind: 'answered'; status: number; headers: Headers; text: string } | { kind: 'broken'; why: string }

export type NextStep =
  | { kind: 'take'; text: string }
  /** Retry after this many milliseconds; `why` completes "the service …". */
  | { kind: 'again'; afterMs: number; why: string }
  /** `status` null when there never was a response. */
  | { kind: 'stop'; status: number | null; why: string }

const SECOND = 1000
/** Maximum number of retries after failures, and after rate limiting. */
const MOST_FAULTS = 5
const MOST_PATIENCE = 20
/** Maximum wait in milliseconds. People don't wait longer at a terminal; they can run the move again another day. */
const LONGEST_WAIT = 600 * SECOND
const MOST_SAID = 200

/**
 * Decides what to do after an attempt.
 * @param attempt number of this attempt, from 1
 * @param now Unix milliseconds, for a Retry-After date
 */
export function decideNextStep(answer: HostedResponse, attempt: number, now: number): NextStep {
  if (answer.kind === 'broken') return afterFault(null, answer.why, attempt)
  const { status, headers, text } = answer
  if (status >= 200 && status < 300) return { kind: 'take', text }
  const why = `returned status ${status}${saidIn(text)}`
  const asked = patienceAsked(headers, now)
  if (status === 429) {
    const afterMs = asked ?? backoff(attempt)
    if (afterMs > LONGEST_WAIT || attempt >= MOST_PATIENCE) return { kind: 'stop', status, why }
    return { kind: 'again', afterMs, why: `requested a wait of ${Math.ceil(afterMs / SECOND)} seconds` }
  }
  if (status >= 500) return afterFault(status, why, attempt, asked)
  return { kind: 'stop', status, why }
}

function afterFault(status: number | null, why: string, attempt: number, asked?: number): NextStep {
  if (attempt >= MOST_FAULTS || (asked ?? 0) > LONGEST_WAIT)
    return { kind: 'stop', status, why: `${why} (after ${attempt} attempts)` }
  return { kind: 'again', afterMs: asked ?? backoff(attempt), why }
}

/** Returns the pause before a retry, in milliseconds: 1, 2, 4, 8, … seconds, at most 30. */
const backoff = (attempt: number): number => Math.min(2 ** (attempt - 1), 30) * SECOND

/**
 * Returns how long the service asks to wait: Retry-After in seconds or as a date (RFC 9110 §10.2.3), or the end of its
 * rate limit window.
 */
function patienceAsked(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim()
  if (after) {
    if (/^\d{1,9}$/.test(after)) return Number(after) * SECOND
    const date = Date.parse(after)
    if (!Number.isNaN(date)) return Math.max(0, date - now)
  }
  return secondsIn(headers, 'ratelimit-reset')
}

/**
 * Returns how long to wait before the next request: 0, unless this was the last request that the rate limit window
 * allows.
 */
export function computeRateLimitDelay(headers: Headers): number {
  if (headers.get('ratelimit-remaining')?.trim() !== '0') return 0
  return Math.min(secondsIn(headers, 'ratelimit-reset') ?? SECOND, LONGEST_WAIT)
}

function secondsIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)?.trim() ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) * SECOND : undefined
}

/** Returns the message of an error body, if there is one. */
function saidIn(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    const said = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined
    return typeof said === 'string' ? `: ${said.slice(0, MOST_SAID).replace(/\.$/, '')}` : ''
  } catch {
    // A proxy's error page is no more helpful than the status.
    return ''
  }
}
