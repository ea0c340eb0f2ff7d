import type { Static } from 'typebox'
import type { ErrorBody } from '../../../appliance/api/shared.ts'
import { clearPreloadedData } from '../state/preload.ts'
import { syncClock } from '../state/clock.svelte.ts'

/** A failed request. The message is from the server or, if there was no response, from the dashboard. */
export class ApiError extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

/** Called on every 401 response except when signing in, because it means that the session has ended. */
let sessionEnded: () => void = () => undefined
export function onSessionEnd(act: () => void): void {
  sessionEnded = act
}

interface Options {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: unknown
  signal?: AbortSignal
  /** A status of 400 or above that is not an error for this request. */
  alsoTaken?: number
  /** Whether the request is safe to repeat if its outcome is unknown. GET requests always are. */
  repeatable?: boolean
  /** Called while the body is being sent, with the share of the body sent so far, from 0 to 1. */
  onsent?: ((share: number) => void) | undefined
}

/** Sends a request to the server of this page. Throws `ApiError`, or an AbortError when `signal` fires. */
export async function request(path: string, options: Options = {}): Promise<Response> {
  const method = options.method ?? 'GET'
  const headers: Record<string, string> = { Accept: 'application/json' }
  // Protects against CSRF: other sites can't set this header without a preflight request. The server requires it for
  // all changes.
  if (method !== 'GET') headers['X-Requested-With'] = 'dashboard'
  // Data that was preloaded before a change is outdated.
  if (method !== 'GET') clearPreloadedData()
  const { body } = options
  const form = body instanceof FormData || body instanceof Blob ? body : undefined
  if (options.body !== undefined && !form) headers['Content-Type'] = 'application/json'
  const init = {
    method,
    headers,
    credentials: 'same-origin',
    cache: 'no-store',
    ...(options.body !== undefined && { body: form ?? JSON.stringify(options.body) }),
    ...(options.signal && { signal: options.signal }),
  } as const
  const repeatable = options.repeatable ?? method === 'GET'
  const answer = await reachSignedIn(path, init, repeatable, options.onsent)
  syncClock(answer.headers.get('Date'))
  if (answer.ok || answer.status === options.alsoTaken) return answer
  if (answer.status === 401) sessionEnded()
  throw new ApiError(answer.status, await sentence(answer))
}

/** How long to wait for a new session cookie that another tab's request may set, in milliseconds. */
const COOKIE_ON_ITS_WAY = 250

/**
 * Requests in progress that change something. Some of them replace the session cookie, and the old one becomes invalid.
 */
const changing = new Set<Promise<unknown>>()

/**
 * Like `reach`, but repeats a GET once after a 401, since the session cookie may just have changed. Doesn't repeat
 * `/session`, because there may be no session yet.
 */
async function reachSignedIn(
  path: string,
  init: Init,
  repeatable: boolean,
  onsent: Options['onsent'],
): Promise<Response> {
  if (init.method !== 'GET') {
    const change = reach(path, init, repeatable, onsent)
    changing.add(change)
    return change.finally(() => changing.delete(change))
  }
  const answer = await reach(path, init, repeatable)
  if (answer.status !== 401 || path === '/session') return answer
  await Promise.allSettled(changing)
  await new Promise((resolve) => setTimeout(resolve, COOKIE_ON_ITS_WAY))
  return reach(path, init, repeatable)
}

/** Returns a path with a query string, without parameters that are empty, null or undefined. */
export function addQueryString(
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value))
  return `${path}?${query}`
}

let underWay = 0

/** Whether any request is in progress. */
export const isRequestInProgress = (): boolean => underWay > 0

const NO_ANSWER = 'The server does not respond. Check that it is running and that this browser can reach it.'
const UNKNOWN = ' The change may or may not have been made. Check before you try again.'

/** The options of a request, as `fetch` takes them. */
interface Init {
  method: string
  headers: Record<string, string>
  credentials: 'same-origin'
  cache: 'no-store'
  body?: string | FormData | Blob
  signal?: AbortSignal
}

async function reach(
  path: string,
  init: Init,
  repeatable: boolean,
  onsent?: Options['onsent'],
): Promise<Response> {
  underWay += 1
  try {
    return await (onsent ? sendTelling(path, init, onsent) : fetch(path, init))
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, NO_ANSWER + (repeatable ? '' : UNKNOWN))
  } finally {
    underWay -= 1
  }
}

/** Sends a request like `fetch`, but reports how much of the body was sent, which `fetch` can't do. */
function sendTelling(path: string, init: Init, onsent: (share: number) => void): Promise<Response> {
  const { method, headers, body, signal } = init
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest()
    sending.open(method, path)
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value)
    sending.upload.onprogress = ({ loaded, total }) => onsent(total > 0 ? loaded / total : 0)
    sending.onload = () => {
      const { status, statusText, responseText } = sending
      const date = sending.getResponseHeader('Date')
      resolve(new Response(responseText, { status, statusText, headers: date === null ? {} : { date } }))
    }
    sending.onerror = () => reject(new TypeError('The request failed.'))
    sending.onabort = () => reject(new DOMException('The request was aborted.', 'AbortError'))
    signal?.addEventListener('abort', () => sending.abort(), { once: true })
    sending.send(body ?? null)
  })
}

async function sentence(answer: Response): Promise<string> {
  try {
    return ((await answer.json()) as Static<typeof ErrorBody>).message
  } catch {
    // The response isn't in the API's error format, so it comes from a proxy.
    return `Unexpected response ${answer.status} ${answer.statusText}`.trim()
  }
}

/** Returns the JSON response to a GET. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {})
  return (await answer.json()) as T
}

/** Returns the JSON response to a POST that is safe to repeat. */
export async function postQuery<T>(path: string, body?: unknown): Promise<T> {
  const answer = await request(path, {
    method: 'POST',
    repeatable: true,
    ...(body !== undefined && { body }),
  })
  return (await answer.json()) as T
}

/**
 * Sends a file in a POST that is safe to repeat, and returns the JSON response.
 * @param onsent called with the share of the file sent so far, from 0 to 1
 */
export async function upload<T>(
  path: string,
  body: FormData,
  { signal, onsent }: { signal: AbortSignal; onsent: (share: number) => void },
): Promise<T> {
  const answer = await request(path, { method: 'POST', repeatable: true, body, signal, onsent })
  return (await answer.json()) as T
}

/** Returns the JSON response to a request that changes something. */
export async function change<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> {
  const answer = await request(path, { method, ...(body !== undefined && { body }) })
  return (await answer.json()) as T
}
