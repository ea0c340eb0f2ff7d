/**
 * Adds entity tags to JSON responses, and returns 304 when the client already has the same (RFC 9110 §8.8.3, §13.1.2).
 */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './deps.ts'

/** Maximum length of a response with a tag, in UTF-16 units. Hashing must not delay other requests. */
const MOST = 1024 * 1024

/** Tags JSON responses to GET and HEAD. Call it before the first route is added. */
export function addEtags(app: App): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!isTagged(request, reply, payload)) {
      done(null, payload)
      return
    }
    const tag = `W/"${payload.length.toString(16)}-${hash('sha1', payload, 'base64url')}"`
    void reply.header('etag', tag)
    if (!namesTag(request.headers['if-none-match'], tag)) {
      done(null, payload)
      return
    }
    void reply.code(304).removeHeader('content-type')
    // The response to HEAD loses its body later, and keeps its length.
    done(null, request.method === 'HEAD' ? payload : null)
  })
}

function isTagged({ method }: FastifyRequest, reply: FastifyReply, payload: unknown): payload is string {
  if (method !== 'GET' && method !== 'HEAD') return false
  if (reply.statusCode !== 200 || typeof payload !== 'string' || payload.length > MOST) return false
  const type = reply.getHeader('content-type')
  return typeof type === 'string' && type.startsWith('application/json') && !reply.hasHeader('etag')
}

/** Whether If-None-Match contains the tag. Uses weak comparison, without `W/` (RFC 9110 §8.8.3.2). */
export function namesTag(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false
  const opaque = tag.slice(2)
  return field
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || one === opaque || one === tag)
}
