/** Charges requests without a valid key or session to the budget of their address (docs/limits.md). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PIECE } from '../capacity/capacity.ts'
import { refuse } from '../mail/refusals.ts'
import type { App, HttpDeps } from './deps.ts'
import { connectionOf } from './listeners.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Cheap, and requested by many clients of one address without a key: by monitors, and for opens and clicks through
     * a provider's proxy.
     */
    unmetered?: boolean
  }
}

/** Tokens for a sign-in or similar, which reads a body and the database, and may hash a password. */
const FORM = 10

/**
 * Takes tokens of the client's address for a request without a valid key or session. Refuses with a delay, and closes
 * the connection: `address_rate`.
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
  // A proxy also carries requests of other clients.
  if (connectionOf(socket)?.shared === false) {
    // Ignore pipelined requests.
    socket.pause()
    await budgets.hold()
    void reply.header('connection', 'close')
  }
  throw refuse('address_rate', { seconds })
}

/**
 * Sends large responses in chunks, and charges those to strangers to their address. Must be registered after everything
 * that reads responses as text.
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

/** Returns the octets of a response larger than a chunk; null for others, and for streams. */
function largeOf(payload: unknown): Buffer | null {
  if (typeof payload === 'string') return payload.length > PIECE ? Buffer.from(payload) : null
  return Buffer.isBuffer(payload) && payload.length > PIECE ? payload : null
}
