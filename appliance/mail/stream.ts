/** Determines an email's stream from the sender's explicit choice, or else from its header. Pure. */
import { STREAMS, type Stream } from './source.ts'

/** The header field that sets the stream, in lower case; removed before sending. */
export const STREAM_FIELD = 'x-posthaste-stream'

/** The field's valid values, for refusals. */
export const EXPECTED_STREAM = STREAMS.join(' or ')

/** Fields that occur only in mail to many people (RFC 2919, RFC 2369). */
const LIST_FIELDS = new Set(['list-id', 'list-unsubscribe'])
/** `Precedence` isn't standardized (RFC 2076 §3.9), but bulk mailers have always written it. */
const PRECEDENCES = new Set(['bulk', 'list'])

/**
 * Determines the stream from header fields: `X-Posthaste-Stream` if present; otherwise broadcast for mail to many
 * people, transactional for the rest. Undefined when X-Posthaste-Stream is invalid or contradictory.
 */
export function determineStream(fields: Iterable<{ name: string; value: string }>): Stream | undefined {
  const said = new Set<string>()
  let toMany = false
  for (const { name, value } of fields) {
    const lower = name.toLowerCase()
    const word = value.trim().toLowerCase()
    if (lower === STREAM_FIELD) said.add(word)
    if (LIST_FIELDS.has(lower) || (lower === 'precedence' && PRECEDENCES.has(word))) toMany = true
  }
  if (said.size === 0) return toMany ? 'broadcast' : 'transactional'
  const [only] = said
  return said.size === 1 ? STREAMS.find((stream) => stream === only) : undefined
}
