/** The listener of `acme.http_listen`, which only responds to http-01 challenges (RFC 8555 §8.3). */
import type { RequestListener, ServerResponse } from 'node:http'
import type { Capacity } from '../capacity/capacity.ts'
import { createListeners, type Listeners } from './listeners.ts'
import { CHALLENGE_PATH } from './routes/tls.ts'

/** Creates the listener. It doesn't listen yet. */
export function createChallengeListener(
  answer: (token: string) => Promise<string | undefined>,
  { http: connections, budgets }: Pick<Capacity, 'http' | 'budgets'>,
): Listeners {
  const handle: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0]!
    const reads = request.method === 'GET' || request.method === 'HEAD'
    const isAsked = reads && path.startsWith(CHALLENGE_PATH)
    const found = isAsked ? answer(path.slice(CHALLENGE_PATH.length)) : Promise.resolve(undefined)
    void found.then((text) => respond(response, text, request.method === 'HEAD'))
  }
  return createListeners(handle, 'acme.http_listen', { connections, budgets, proxies: [] })
}

/** @param found the response to the challenge; undefined for an unknown one */
function respond(response: ServerResponse, found: string | undefined, isHead: boolean): void {
  const text = found ?? 'Nothing here.\n'
  response
    .writeHead(found === undefined ? 404 : 200, {
      'content-type': 'application/octet-stream',
      'content-length': Buffer.byteLength(text),
      connection: 'close',
    })
    .end(isHead ? undefined : text)
}
