import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A response to send instead of the requested object or list. */
export interface Instead {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** The body as raw text instead of JSON. */
  raw?: string
}

/**
 * A fake API of the hosted service with scripted content: a real HTTP server on loopback, with the same pagination
 * cursors.
 */
export interface HostedWorld {
  readonly url: string
  readonly key: string
  /** Content by path. An array is served as a list, anything else as an object. */
  content: Record<string, unknown>
  /** All requests, as `GET /path?query`. */
  readonly asked: string[]
  /** Called before each request with its number, from 1. Undefined serves the content. */
  instead: (path: string, number: number) => Instead | undefined
  close(): Promise<void>
}

const KEY = 're_hosted_0123456789'

/** Starts the API. It accepts one key, `re_hosted_0123456789`. */
export async function startHosted(content: Record<string, unknown> = {}): Promise<HostedWorld> {
  const server = createServer((request, response) => answer(request, response, world))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const world: HostedWorld = {
    url: `http://127.0.0.1:${port}`,
    key: KEY,
    content,
    asked: [],
    instead: () => undefined,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return world
}

function answer(request: IncomingMessage, response: ServerResponse, world: HostedWorld): void {
  const url = new URL(request.url!, world.url)
  world.asked.push(`${request.method} ${request.url}`)
  const { status, body, headers, raw } =
    world.instead(url.pathname, world.asked.length) ??
    (request.headers.authorization === `Bearer ${world.key}`
      ? contentOf(url, world)
      : refusal(403, 'invalid_api_key', 'API key is invalid.'))
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(raw ?? JSON.stringify(body ?? {}))
}

/** Returns an error body in the service's format. */
export function refusal(statusCode: number, name: string, message: string): Instead {
  return { status: statusCode, body: { statusCode, name, message } }
}

function contentOf({ pathname, searchParams }: URL, { content }: HostedWorld): Instead {
  const found = content[pathname]
  if (found === undefined) return refusal(404, 'not_found', 'The requested endpoint does not exist.')
  if (!Array.isArray(found)) return { status: 200, body: found }
  const all = found as { id: string }[]
  const from = all.findIndex(({ id }) => id === searchParams.get('after')) + 1
  const data = all.slice(from, from + Number(searchParams.get('limit') ?? 20))
  return { status: 200, body: { object: 'list', has_more: from + data.length < all.length, data } }
}
