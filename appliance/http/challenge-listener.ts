/** The listener of `acme.http_listen`, which only responds to http-01 challenges (RFC 8555 §8.3). */
import type { RequestListener } from 'node:http'
import type { Capacity } from '../capacity/capacity.ts'
import { createListeners, type Listeners } from './listeners.ts'
import { CHALLENGE_PATH } from './routes/tls.ts'

/** Creates the listener. It doesn't listen yet. */
export function createChallengeListener(
  answer: (token: string) => string | undefined,
  { http: connections, budgets }: Pick<Capacity, 'http' | 'budgets'>,
): Listeners {
  const handle: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0]!
    const reads = request.method === 'GET' || request.method === 'HEAD'
    const found =
      reads && path.startsWith(CHALLENGE_PATH) ? answer(path.slice(CHALLENGE_PATH.length)) : undefined
    const text = found ?? 'Nothing here.\n'
    response
      .writeHead(found === undefined ? 404 : 200, {
        'content-type': 'application/octet-stream',
        'content-length': Buffer.byteLength(text),
        connection: 'close',
      })
      .end(request.method === 'HEAD' ? undefined : text)
  }
  return createListeners(handle, 'acme.http_listen', { connections, budgets, proxies: [] })
}
