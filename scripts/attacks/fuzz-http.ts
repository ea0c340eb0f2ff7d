/**
 * Generates requests for the fuzzer: to every route, with bodies and headers that are valid, almost valid, or nonsense.
 */
import { damaged, happens, json, pick, text } from './noise.ts'
import type { Target } from './target.ts'
import type { Dice } from '../../appliance/crashtest/plan.ts'

/** The bytes to send, how many replies they request, and whether the replies must arrive. */
export interface Batch {
  octets: Buffer
  count: number
  tidy: boolean
}

/** A method and a path with `{parameters}`. */
export type Route = [method: string, path: string]

/**
 * Routes to skip: those that would end the fuzzer's own key or team, and exports, which grow with everything the fuzzer
 * did before.
 */
const SPARED = /^\/(?:live|team|session|account|\w+\/export)/

/** Reads all routes from the daemon's API description. */
export async function readRoutes({ host, http }: Target): Promise<Route[]> {
  const response = await fetch(`http://${host}:${http}/openapi.json`)
  const { paths } = (await response.json()) as { paths: Record<string, object> }
  return Object.entries(paths)
    .filter(([path]) => !SPARED.test(path))
    .flatMap(([path, methods]) => Object.keys(methods).map((method): Route => [method.toUpperCase(), path]))
}

/** Maximum number of requests in a batch. */
const MOST = 20

/** Generates the next requests for a connection, at most `left`. */
export function httpBatch(dice: Dice, target: Target, routes: readonly Route[], left: number): Batch {
  const count = Math.min(left, dice.between(1, MOST))
  const requests = Array.from({ length: count }, () => requestOf(dice, target, routes))
  const tidy = !happens(dice, 0.2)
  // Requests after a damaged request may be parsed as part of it.
  if (!tidy) requests.push(damaged(dice, requests.pop()!))
  return { octets: Buffer.concat(requests), count, tidy }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']
const TYPES = [
  'application/json',
  'application/json',
  'application/json',
  'application/json; charset=latin1',
  'text/plain',
  'application/vnd.api+json',
  '',
]
const FIELDS = [
  'X-A',
  'Idempotency-Key',
  'Accept',
  'If-None-Match',
  'X-Forwarded-For',
  'Range',
  'Cookie',
  'Content-Encoding',
  'User-Agent',
  'X-Requested-With',
]

function requestOf(dice: Dice, target: Target, routes: readonly Route[]): Buffer {
  const [method, path] = happens(dice, 0.9)
    ? pick(dice, routes)
    : ([pick(dice, METHODS), `/${text(dice)}`] as const)
  const filled = path.replace(/\{[^}]*\}/g, () =>
    encodeURIComponent(happens(dice, 0.5) ? idOf(dice) : text(dice)),
  )
  const query = happens(dice, 0.3)
    ? `?${pick(dice, ['limit', 'after', 'q', 'by', 'domain_id'])}=${encodeURIComponent(text(dice))}`
    : ''
  const body = method === 'GET' ? Buffer.alloc(0) : bodyOf(dice)
  const lines = [
    `${method} ${encodeURI(filled).replaceAll('%25', '%')}${query} HTTP/1.1`,
    'Host: mail.sender.example',
    ...(happens(dice, 0.9)
      ? [`Authorization: Bearer ${happens(dice, 0.97) ? target.attackers[0].key : 're_nobody'}`]
      : []),
    ...Array.from(
      { length: dice.between(0, 2) },
      () => `${pick(dice, FIELDS)}: ${encodeURIComponent(text(dice))}`,
    ),
    ...(body.length > 0 ? [`Content-Type: ${pick(dice, TYPES)}`] : []),
  ]
  if (body.length > 0 && happens(dice, 0.1)) {
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`
    return Buffer.concat([
      Buffer.from(`${lines.join('\r\n')}\r\n${chunked}`),
      body,
      Buffer.from('\r\n0\r\n\r\n'),
    ])
  }
  const length = body.length > 0 || method !== 'GET' ? `Content-Length: ${body.length}\r\n` : ''
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n${length}\r\n`), body])
}

/** Returns an ID in the daemon's format that doesn't exist. */
function idOf(dice: Dice): string {
  const hex = Array.from({ length: 32 }, () => dice.between(0, 15).toString(16)).join('')
  return `01a2${hex.slice(0, 4)}-${hex.slice(4, 8)}-7${hex.slice(8, 11)}-8${hex.slice(11, 14)}-${hex.slice(14, 26)}`
}

function bodyOf(dice: Dice): Buffer {
  const kind = dice.between(0, 9)
  if (kind === 0) return Buffer.from(text(dice))
  if (kind === 1) return Buffer.from('['.repeat(dice.between(1, 200)))
  const value = kind < 5 ? emailOf(dice) : json(dice)
  const octets = Buffer.from(JSON.stringify(value))
  return kind === 2 ? damaged(dice, octets) : octets
}

/** Returns an email that is valid except for one or two fields. */
function emailOf(dice: Dice): object {
  const email: Record<string, unknown> = {
    from: 'app@one.example',
    to: 'ada@customer.example',
    subject: text(dice),
    text: text(dice),
  }
  for (let times = dice.between(0, 2); times > 0; times--)
    email[
      pick(dice, ['from', 'to', 'cc', 'headers', 'tags', 'attachments', 'html', 'reply_to', 'scheduled_at'])
    ] = json(dice, 2)
  return email
}
