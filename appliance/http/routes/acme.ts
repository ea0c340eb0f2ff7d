/** RFC 8555 §8.3: what an authority reads to believe that a name is ours. */
import { refuse } from '../../mail/refusals.ts'
import type { App } from '../deps.ts'

/** Where the answers stand. */
export const CHALLENGE_PATH = '/.well-known/acme-challenge/'

/** @param answer to a token; undefined for one that we did not get from an authority */
export function acmeRoutes(app: App, answer: (token: string) => string | undefined): void {
  app.get(
    `${CHALLENGE_PATH}:token`,
    { config: { access: 'public', unmetered: true }, logLevel: 'warn' },
    async (request, reply) => {
      const found = answer((request.params as { token: string }).token)
      if (found === undefined) throw refuse('unknown_endpoint')
      return reply.type('application/octet-stream').send(found)
    },
  )
}
