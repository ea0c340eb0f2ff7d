/** Reads request bodies: JSON, within a limit for each and a budget for all that are in memory at one time. */
import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'

/** Bodies held at one time, in units of the largest one. Parsing and composing take about six times as much memory. */
const BUDGET = 4
/** The part of JavaScript's heap that they may be: as parsed text each is there again, and others need room beside. */
const HEAP_SHARE = 0.25

/** Reads bodies of any content type: what has none may call itself anything, what has one must be JSON. */
export function readBodies(app: App, limit: number): void {
  const heap = getHeapStatistics().heap_size_limit * HEAP_SHARE
  const budget = { held: 0, most: Math.max(limit, Math.min(BUDGET * limit, heap)) }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { bodyLimit: limit }, async (request: FastifyRequest, payload: Readable) => {
    const bytes = await collect(request, payload, Math.min(limit, request.routeOptions.bodyLimit), budget)
    // Some clients send `{}` or a content type with DELETE (reference: wire format §8).
    if (bytes.length === 0 || request.method === 'DELETE') return undefined
    return parse(request, bytes)
  })
}

function parse({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const type = headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() ?? ''
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (!/^application\/(.+\+)?json$/.test(type) || encoding !== 'identity') throw refuse('unsupported_body')
  if (!isUtf8(bytes)) throw refuse('malformed_body')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    // The parser's words quote the body; what it says helps less than it may show in a log.
    if (error instanceof SyntaxError) throw refuse('malformed_body')
    throw error
  }
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
