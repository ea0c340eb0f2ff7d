/** Recognizes bodies that come in chunks of some octets each, which cost as much as one of many (RFC 9112 §7.1 sets no least size). */
import type { IncomingMessage } from 'node:http'

/** Chunks of fewer octets are small; where there are more than so many, the body has to have so many octets for each on average. */
const SMALL_CHUNK = 16
const MOST_SMALL = 1000
/** What is expected instead, as a clause for the refusal. */
export const TORN = `chunks of at least ${SMALL_CHUNK} bytes on average`

const torn = new WeakSet<IncomingMessage>()

/** Whether the body is one of them; nothing more of it comes then. */
export const isTorn = (request: IncomingMessage): boolean => torn.has(request)

/**
 * Watches the body of a request as Node's parser hands it over: one piece from the network has thousands of chunks, which would all be
 * queued before anybody looks at them. Emits `torn` when there are too many; from then on chunks are dropped, and the socket isn't read.
 */
export function watchChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let [small, octets] = [0, 0]
  request.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk === null) return push(chunk, encoding)
    if (torn.has(request)) return false
    const { length } = chunk as Buffer
    octets += length
    if (length < SMALL_CHUNK) small++
    if (small <= MOST_SMALL || octets >= small * SMALL_CHUNK) return push(chunk, encoding)
    torn.add(request)
    request.socket.pause()
    request.emit('torn')
    return false
  }
}
