/**
 * Generates requests for the fuzzer: to every route, with bodies and headers that are valid, almost valid, or nonsense.
 */
import { corruptBytes, chance, randomJson, pickRandomItem, randomText } from './noise.ts'
import type { Target } from './target.ts'
import type { RandomGenerator } from '../../appliance/crashtest/plan.ts'

/** The bytes to send, the number of expected replies, and whether all replies must arrive. */
export interface Batch {
  octets: Buffer
  count: number
  tidy: boolean
}

/** A method and a path with `{parameters}`. */
export type Route = [method: string, path: string]

/**
 * Routes to skip: those that would end the fuzzer's own key or team, and exports, whose size grows with everything that
 * the fuzzer has created.
 */
const SPARED = /^\/(?:live|team|session|account|\w+\/export)/

/** Reads all routes from the daemon's API description. */
export async function loadRoutes({ host, http }: Target): Promise<Route[]> {
  const response = await fetch(`http://${host}:${http}/openapi.json`)
  const { paths } = (await response.json()) as { paths: Record<string, object> }
  return Object.entries(paths)
    .filter(([path]) => !SPARED.test(path))
    .flatMap(([path, methods]) => Object.keys(methods).map((method): Route => [method.toUpperCase(), path]))
}

/** Maximum number of requests in a batch. */
const MOST = 20

/** Generates the next requests for a connection, at most `left`. */
export function generateHttpBatch(
  dice: RandomGenerator,
  target: Target,
  routes: readonly Route[],
  left: number,
): Batch {
  const count = Math.min(left, dice.between(1, MOST))
  const requests = Array.from({ length: count }, () => requestOf(dice, target, routes))
  const tidy = !chance(dice, 0.2)
  // Requests after a damaged request may be parsed as part of it.
  if (!tidy) requests.push(corruptBytes(dice, requests.pop()!))
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

function requestOf(dice: RandomGenerator, target: Target, routes: readonly Route[]): Buffer {
  const [method, path] = chance(dice, 0.9)
    ? pickRandomItem(dice, routes)
    : ([pickRandomItem(dice, METHODS), `/${randomText(dice)}`] as const)
  const filled = path.replace(/\{[^}]*\}/g, () =>
    encodeURIComponent(chance(dice, 0.5) ? idOf(dice) : randomText(dice)),
  )
  const query = chance(dice, 0.3)
    ? `?${pickRandomItem(dice, ['limit', 'after', 'q', 'by', 'domain_id'])}=${encodeURIComponent(randomText(dice))}`
    : ''
  const body = method === 'GET' ? Buffer.alloc(0) : bodyOf(dice)
  const lines = [
    `${method} ${encodeURI(filled).replaceAll('%25', '%')}${query} HTTP/1.1`,
    'Host: mail.sender.example',
    ...(chance(dice, 0.9)
      ? [`Authorization: Bearer ${chance(dice, 0.97) ? target.attackers[0].key : 're_nobody'}`]
      : []),
    ...Array.from(
      { length: dice.between(0, 2) },
      () => `${pickRandomItem(dice, FIELDS)}: ${encodeURIComponent(randomText(dice))}`,
    ),
    ...(body.length > 0 ? [`Content-Type: ${pickRandomItem(dice, TYPES)}`] : []),
  ]
  if (body.length > 0 && chance(dice, 0.1)) {
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
function idOf(dice: RandomGenerator): string {
  const hex = Array.from({ length: 32 }, () => dice.between(0, 15).toString(16)).join('')
  return `01a2${hex.slice(0, 4)}-${hex.slice(4, 8)}-7${hex.slice(8, 11)}-8${hex.slice(11, 14)}-${hex.slice(14, 26)}`
}

function bodyOf(dice: RandomGenerator): Buffer {
  const kind = dice.between(0, 9)
  if (kind === 0) return Buffer.from(randomText(dice))
  if (kind === 1) return Buffer.from('['.repeat(dice.between(1, 200)))
  const value = kind < 5 ? emailOf(dice) : randomJson(dice)
  const octets = Buffer.from(JSON.stringify(value))
  return kind === 2 ? corruptBytes(dice, octets) : octets
}

/** Returns an email that is valid except for one or two fields. */
function emailOf(dice: RandomGenerator): object {
  const email: Record<string, unknown> = {
    from: 'app@one.example',
    to: 'ada@customer.example',
    subject: randomText(dice),
    text: randomText(dice),
  }
  for (let times = dice.between(0, 2); times > 0; times--)
    email[
      pickRandomItem(dice, [
        'from',
        'to',
        'cc',
        'headers',
        'tags',
        'attachments',
        'html',
        'reply_to',
        'scheduled_at',
      ])
    ] = randomJson(dice, 2)
  return email
}
