/** What clients may ask without a valid key or session, on the account of their address (docs/limits.md). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PIECE } from '../capacity/capacity.ts'
import { refuse } from '../mail/refusals.ts'
import type { App, HttpDeps } from './deps.ts'
import { connectionOf } from './listeners.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Asked by many clients of one address without a key, and cheap: monitors, and opens and clicks by way of a provider's proxy. */
    unmetered?: boolean
  }
}

/** Tokens for a sign-in and the like: they read a body, the database, and may compare a password. */
const FORM = 10

/**
 * Takes tokens of the client's address for a request without a valid key or session. Refuses, after a while and together with the
 * connection: `address_rate`.
 */
export async function meter(
  request: FastifyRequest,
  reply: FastifyReply,
  { capacity: { budgets } }: Pick<HttpDeps, 'capacity'>,
): Promise<void> {
  const { access } = request.routeOptions.config
  const isForm = access === 'public' && request.method !== 'GET' && request.method !== 'HEAD'
  const seconds = budgets.take(request.ip, isForm ? FORM : 1)
  if (seconds === 0) return
  const { socket } = request.raw
  // A proxy carries requests of other clients as well.
  if (connectionOf(socket)?.shared === false) {
    // What else was sent ahead is not looked at.
    socket.pause()
    await budgets.hold()
    void reply.header('connection', 'close')
  }
  throw refuse('address_rate', { seconds })
}

/**
 * Hands large answers out in pieces, and puts those to strangers on the account of their address. To be called after what looks at
 * answers as texts.
 */
export function giveOutLargeAnswers(
  app: App,
  { capacity: { budgets, outgoing } }: Pick<HttpDeps, 'capacity'>,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const large = request.method === 'HEAD' ? null : largeOf(payload)
    if (!request.caller && request.method !== 'HEAD')
      budgets.charge(request.ip, large?.length ?? Number(reply.getHeader('content-length') ?? 0))
    if (!large) {
      done(null, payload)
      return
    }
    void reply.header('content-length', large.length)
    done(null, outgoing.pieces(large))
  })
}

/** The octets of an answer that is larger than a piece; null for others, and for streams. */
function largeOf(payload: unknown): Buffer | null {
  if (typeof payload === 'string') return payload.length > PIECE ? Buffer.from(payload) : null
  return Buffer.isBuffer(payload) && payload.length > PIECE ? payload : null
}
