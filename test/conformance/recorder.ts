/**
 * Records the official client's requests and responses, and checks each response against the hosted service's document.
 */
import { faultsOf, operationFor, OPERATIONS } from './upstream.ts'

export interface Recorder {
  /** Returns the faults of responses since the last call. */
  takeFaults(): string[]
  /** Keys of operations that succeeded with the right shape. */
  readonly done: ReadonlySet<string>
  stop(): void
}

/** The error names that typed clients know. Other names break them (reference: wire format §3). */
const ERROR_NAMES = [
  'invalid_idempotency_key',
  'validation_error',
  'missing_api_key',
  'restricted_api_key',
  'invalid_api_key',
  'not_found',
  'method_not_allowed',
  'invalid_idempotent_request',
  'concurrent_idempotent_requests',
  'invalid_attachment',
  'invalid_from_address',
  'invalid_access',
  'invalid_parameter',
  'invalid_region',
  'missing_required_field',
  'monthly_quota_exceeded',
  'daily_quota_exceeded',
  'rate_limit_exceeded',
  'security_error',
  'application_error',
  'internal_server_error',
]

/** Starts recording between the client and the real `fetch`. */
export function record(): Recorder {
  const real = globalThis.fetch
  let faults: string[] = []
  const done = new Set<string>()
  globalThis.fetch = async (input, init) => {
    const response = await real(input, init)
    // The tests also request our own paths, which the document doesn't cover.
    if (!isClient(init)) return response
    const method = init?.method ?? 'GET'
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const found = await faultsOfAnswer(method, pathname, response.clone())
    faults.push(...found)
    const operation = operationFor(method, pathname)
    if (operation && response.ok && found.length === 0) done.add(operation.key)
    return response
  }
  return {
    takeFaults: () => faults.splice(0),
    done,
    stop() {
      globalThis.fetch = real
      faults = []
    },
  }
}

const isClient = (init?: RequestInit): boolean =>
  new Headers(init?.headers).get('user-agent')?.startsWith('resend-') ?? false

async function faultsOfAnswer(method: string, path: string, response: Response): Promise<string[]> {
  const request = `${method} ${path}`
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return [`${request}: the answer is no JSON: ${text.slice(0, 100)}`]
  }
  const common = faultsOfHeaders(request, response)
  if (!response.ok) return [...common, ...faultsOfError(request, response.status, text, body)]
  const operation = operationFor(method, path)
  if (!operation) return [...common, `${request}: no such operation upstream (${OPERATIONS.length} known)`]
  return [...common, ...faultsOf(operation, response.status, body)]
}

function faultsOfHeaders(request: string, { status, headers }: Response): string[] {
  const faults: string[] = []
  if (headers.get('content-type') !== 'application/json; charset=utf-8')
    faults.push(`${request}: content-type ${headers.get('content-type')}`)
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
    if (!/^\d+$/.test(headers.get(name) ?? '')) faults.push(`${request}: ${name} ${headers.get(name)}`)
  if (status === 200 && request.startsWith('GET ') && !headers.get('etag')?.startsWith('W/"'))
    faults.push(`${request}: etag ${headers.get('etag')}`)
  if (headers.get('retry-after') !== null && !/^\d+$/.test(headers.get('retry-after')!))
    faults.push(`${request}: retry-after ${headers.get('retry-after')}`)
  return faults
}

function faultsOfError(request: string, status: number, text: string, body: unknown): string[] {
  const { statusCode, message, name } = body as Record<string, unknown>
  const faults: string[] = []
  // Exactly these keys in this order.
  if (text !== JSON.stringify({ statusCode, message, name })) faults.push(`${request}: error body ${text}`)
  if (statusCode !== status) faults.push(`${request}: statusCode ${String(statusCode)} with status ${status}`)
  if (typeof message !== 'string' || message === '') faults.push(`${request}: error without a message`)
  if (!ERROR_NAMES.includes(name as string)) faults.push(`${request}: unknown error name ${String(name)}`)
  return faults
}
