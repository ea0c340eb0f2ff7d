/** Reads request bodies: JSON, within a limit for each and a budget for all that are in memory at one time. */
import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/** Bodies held at one time, in units of the largest one. Parsing and composing take about six times as much memory. */
const BUDGET = 4
/** The part of JavaScript's heap that they may be: as text, parsed and as a message each is there again, and others need room beside. */
const HEAP_SHARE = 0.15
/** U+FEFF in UTF-8. */
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Reads bodies of any content type: what has none may call itself anything, what has one must be JSON. */
export function readBodies(app: App, limit: number): void {
  const heap = getHeapStatistics().heap_size_limit * HEAP_SHARE
  const budget = { held: 0, most: Math.max(limit, Math.min(BUDGET * limit, heap)) }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { bodyLimit: limit }, async (request: FastifyRequest, payload: Readable) => {
    const bytes = await collect(request, payload, Math.min(limit, request.routeOptions.bodyLimit), budget)
    // Some clients send `{}` or a content type with DELETE (reference: wire format §8). What does not exist reads nothing.
    if (bytes.length === 0 || request.method === 'DELETE' || request.is404) return undefined
    return parse(request, bytes)
  })
}

function parse({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const type = headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() ?? ''
  if (!/^application\/(.+\+)?json$/.test(type)) throw refuse('unsupported_body')
  if (isEncoded(headers)) throw refuse('compressed_body')
  if (!isUtf8(bytes)) throw refuse('body_not_utf8')
  try {
    // A byte order mark is no JSON, and may be passed over (RFC 8259 §8.1).
    return JSON.parse(bytes.toString('utf8', BOM.equals(bytes.subarray(0, BOM.length)) ? BOM.length : 0))
  } catch (error) {
    // The parser's words quote the body; what it says helps less than it may show in a log.
    if (error instanceof SyntaxError) throw refuse('malformed_body')
    throw error
  }
}

/** Whether something must be undone before it is JSON: a coding of the content or of its transfer (RFC 9110 §8.4, RFC 9112 §6.1). */
function isEncoded(headers: IncomingHttpHeaders): boolean {
  const content = headers['content-encoding']?.toLowerCase() ?? ''
  const transfer = headers['transfer-encoding']?.toLowerCase() ?? 'chunked'
  return (content !== '' && content !== 'identity') || transfer !== 'chunked'
}

/** Collects a body. What is too much is read on but not kept, so that the caller gets to hear the answer. */
function collect(
  { raw }: FastifyRequest,
  payload: Readable,
  limit: number,
  budget: { held: number; most: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const release = () => {
      budget.held -= size
      size = 0
    }
    // Given back when the request is over, however it ends.
    raw.once('close', release)
    const giveUp = (key: 'body_too_large' | 'overloaded') => {
      payload.removeListener('data', keep)
      payload.resume()
      chunks.length = 0
      release()
      reject(refuse(key, { limit }))
    }
    const keep = (chunk: Buffer) => {
      size += chunk.length
      budget.held += chunk.length
      if (size > limit) giveUp('body_too_large')
      else if (budget.held > budget.most) giveUp('overloaded')
      else chunks.push(chunk)
    }
    if (Number(raw.headers['content-length'] ?? 0) > limit) {
      giveUp('body_too_large')
      return
    }
    // As `stream.finished` does it, with a third of its listeners. Every request closes in the end: that is no error then.
    const broken = () => reject(refuse('malformed_request'))
    payload.on('data', keep).once('error', broken).once('close', broken)
    payload.once('end', () => {
      payload.removeListener('close', broken)
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    if (payload.closed) broken()
  })
}
