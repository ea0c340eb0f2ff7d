/** Which stream an email belongs to: what its sender says, else what its header shows. Pure. */
import { STREAMS, type Stream } from './source.ts'

/** The field with which a sender names the stream, in lower case; it is not sent on. */
export const STREAM_FIELD = 'x-posthaste-stream'

/** What the field may say, for refusals. */
export const STREAM_EXPECTED = STREAMS.join(' or ')

/** Fields that only mail to many has: RFC 2919, RFC 2369. */
const LIST_FIELDS = new Set(['list-id', 'list-unsubscribe'])
/** `Precedence` is in no standard (RFC 2076 §3.9), but what sends to many has always written it. */
const PRECEDENCES = new Set(['bulk', 'list'])

/**
 * The stream that header fields speak for: `X-Posthaste-Stream`, else broadcast for mail that shows to be for many, else
 * transactional. Undefined when X-Posthaste-Stream says anything else, or two different things.
 */
export function streamOf(fields: Iterable<{ name: string; value: string }>): Stream | undefined {
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
