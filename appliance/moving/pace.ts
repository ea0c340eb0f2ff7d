/** What to do with an answer of the hosted service: take it, ask again after a while, or stop. Pure. */

/** An answer as it came, or why none did. */
export type Answer =
  { kind: 'answered'; status: number; headers: Headers; text: string } | { kind: 'broken'; why: string }

export type Next =
  | { kind: 'take'; text: string }
  /** Ask again after so many milliseconds; `why` completes "the service …". */
  | { kind: 'again'; afterMs: number; why: string }
  /** `status` null: it was never answered. */
  | { kind: 'stop'; status: number | null; why: string }

const SECOND = 1000
/** How often one question is asked where the service stumbles, and where it only asks for patience. */
const MOST_FAULTS = 5
const MOST_PATIENCE = 20
/** Longer than this nobody waits before a terminal: the service is asked another day. */
const LONGEST_WAIT = 600 * SECOND
const MOST_SAID = 200

/**
 * @param attempt how often this question was asked, from 1
 * @param now Unix milliseconds, for a Retry-After that is a date
 */
export function decide(answer: Answer, attempt: number, now: number): Next {
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

function afterFault(status: number | null, why: string, attempt: number, asked?: number): Next {
  if (attempt >= MOST_FAULTS || (asked ?? 0) > LONGEST_WAIT)
    return { kind: 'stop', status, why: `${why} (after ${attempt} attempts)` }
  return { kind: 'again', afterMs: asked ?? backoff(attempt), why }
}

/** 1, 2, 4, 8, … seconds, half a minute at most. */
const backoff = (attempt: number): number => Math.min(2 ** (attempt - 1), 30) * SECOND

/** How long the service asks to wait: Retry-After in seconds or as a date (RFC 9110 §10.2.3), or else the end of its window. */
function patienceAsked(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim()
  if (after) {
    if (/^\d{1,9}$/.test(after)) return Number(after) * SECOND
    const date = Date.parse(after)
    if (!Number.isNaN(date)) return Math.max(0, date - now)
  }
  return secondsIn(headers, 'ratelimit-reset')
}

/** How long to rest before the next question, where the answer to this one was the last that the window allowed. */
export function restAfter(headers: Headers): number {
  if (headers.get('ratelimit-remaining')?.trim() !== '0') return 0
  return Math.min(secondsIn(headers, 'ratelimit-reset') ?? SECOND, LONGEST_WAIT)
}

function secondsIn(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)?.trim() ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) * SECOND : undefined
}

/** The sentence of an error body, where there is one. */
function saidIn(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    const said = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined
    return typeof said === 'string' ? `: ${said.slice(0, MOST_SAID).replace(/\.$/, '')}` : ''
  } catch {
    // A proxy's page says nothing that the status does not.
    return ''
  }
}
