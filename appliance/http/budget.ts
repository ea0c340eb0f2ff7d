/** Makes requests without a valid key or session use up the budget of their IP address (docs/limits.md). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CHUNK_SIZE } from '../capacity/capacity.ts'
import { refuse } from '../mail/refusals.ts'
import type { App, HttpDeps } from './deps.ts'
import { getConnection } from './listeners.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether requests don't use up the budget: cheap requests that many clients of one address make without a key,
     * such as monitors, or providers' proxies for opens and clicks.
     */
    unmetered?: boolean
  }
}

/** Number of tokens for a sign-in or similar request, which reads a body and the database, and may hash a password. */
const FORM = 10

/**
 * Takes tokens from the budget of the client's address for a request without a valid key or session. When the budget is
 * exhausted, refuses after a delay, and closes the connection: `address_rate`.
 */
export async function chargeRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { capacity: { budgets } }: Pick<HttpDeps, 'capacity'>,
): Promise<void> {
  const { access } = request.routeOptions.config
  const isForm = access === 'public' && request.method !== 'GET' && request.method !== 'HEAD'
  const seconds = budgets.take(request.ip, isForm ? FORM : 1)
  if (seconds === 0) return
  const { socket } = request.raw
  // A proxy's connection also carries requests of other clients.
  if (getConnection(socket)?.shared === false) {
    // Stop reading pipelined requests.
    socket.pause()
    await budgets.hold()
    void reply.header('connection', 'close')
  }
  throw refuse('address_rate', { seconds })
}

/**
 * Sends large responses in chunks, and makes those to unauthenticated clients use up the budget of their address. Must
 * be registered after all hooks that read responses as text.
 */
export function chunkLargeResponses(
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

/** Returns the octets of a response that is larger than a chunk; null for smaller responses, and for streams. */
function largeOf(payload: unknown): Buffer | null {
  if (typeof payload === 'string') return payload.length > CHUNK_SIZE ? Buffer.from(payload) : null
  return Buffer.isBuffer(payload) && payload.length > CHUNK_SIZE ? payload : null
}
