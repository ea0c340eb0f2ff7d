/**
 * Detects bodies in chunks of a few octets. Each chunk costs as much as a large one (RFC 9112 §7.1 sets no minimum).
 */
import type { IncomingMessage } from 'node:http'

/**
 * Size in octets below which chunks are small. A body with more than `MOST_SMALL` small chunks must have at least this
 * many octets per small chunk.
 */
const SMALL_CHUNK = 16
const MOST_SMALL = 1000
/** The requirement for chunks, as a clause for the refusal. */
export const CHUNK_REQUIREMENT = `chunks of at least ${SMALL_CHUNK} bytes on average`

const torn = new WeakSet<IncomingMessage>()

/** Whether a body has too many small chunks. No more of it is read then. */
export const hasTooManySmallChunks = (request: IncomingMessage): boolean => torn.has(request)

/**
 * Counts the chunks of a body as Node's parser emits them, because a single network packet may contain thousands of
 * chunks, which would all be queued. Emits `torn` when there are too many, then drops further chunks and stops reading
 * the socket.
 */
export function countChunks(request: IncomingMessage): void {
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
