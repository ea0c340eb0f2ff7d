/** The error answers of the document: one for each HTTP status of the catalogue of refusals. */
import { REFUSALS, refuse, type RefusalKey } from '../mail/refusals.ts'
import { errorBody } from './errors.ts'
import type { DescribedRoute, Response } from './openapi-components.ts'

/** Names as RFC 9110 §15 and RFC 6585 call the statuses. */
const NAMES: Record<string, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  415: 'UnsupportedMediaType',
  422: 'UnprocessableContent',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  451: 'UnavailableForLegalReasons',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  507: 'InsufficientStorage',
}

/** The answer to a status, with the names that it comes with and an example. */
export function errorResponses(): Record<string, Response> {
  const byStatus = Object.groupBy(Object.keys(REFUSALS) as RefusalKey[], (key) =>
    String(REFUSALS[key].status),
  )
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, keys = []]) => [nameOf(status), response(status, keys)]),
  )
}

/** The component that describes a status. */
export function nameOf(status: string): string {
  const name = NAMES[status]
  if (name === undefined) throw new Error(`Status ${status} of a refusal needs a name in openapi-errors.ts.`)
  return name
}

function response(status: string, keys: RefusalKey[]): Response {
  const names = [...new Set(keys.map((key) => REFUSALS[key].name))]
  const example = errorBody(refuse(keys[0]!, EXAMPLE))
  return {
    description: `${status}: ${names.map((name) => `\`${name}\``).join(', ')}.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' }, example } },
  }
}

/** What stands for the catalogue's placeholders. */
const EXAMPLE = {
  resource: 'Email',
  parameter: 'id',
  field: 'to',
  expected: 'it must be a string',
  limit: 10,
  seconds: 1,
  domain: 'example.com',
  index: 0,
}

/** The statuses that a route may answer beside success, ascending. */
export function errorsOf({ access, body, url, contract }: DescribedRoute): string[] {
  const open = access === 'public'
  const statuses = new Set(contract.errors ?? [])
  const add = (when: boolean, ...more: string[]): void => more.forEach((one) => when && statuses.add(one))
  add(true, '500', '503')
  add(!open, '401', '403', '429')
  add(body !== undefined, '400', '413', '415', '422')
  add(url.includes(':'), '404', '422')
  add(contract.querystring !== undefined, '422')
  return [...statuses].sort()
}
