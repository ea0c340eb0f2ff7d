import type { Static } from 'typebox'
import type { ErrorBody } from '../../../appliance/api/shared.ts'
import { dropAhead } from '../state/ahead.ts'
import { heardDate } from '../state/clock.svelte.ts'

/** A request that did not do what it should: the appliance's own sentence, or ours when it could not be asked. */
export class ApiError extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

/** Called on every 401 but that of signing in: the session is over. */
let sessionEnded: () => void = () => undefined
export function whenSessionEnds(act: () => void): void {
  sessionEnded = act
}

interface Options {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: unknown
  signal?: AbortSignal
  /** A status above 399 that is an answer all the same. */
  alsoTaken?: number
  /** Whether it may be done twice: nobody has to know whether it was. A GET may. */
  repeatable?: boolean
}

/** Sends a request to the appliance that served this page. Throws `ApiError`, or an AbortError when `signal` fires. */
export async function request(path: string, options: Options = {}): Promise<Response> {
  const method = options.method ?? 'GET'
  const headers: Record<string, string> = { Accept: 'application/json' }
  // Another site's page cannot set this header without a preflight: the appliance demands it of all that changes something.
  if (method !== 'GET') headers['X-Requested-With'] = 'dashboard'
  // What was asked for before a change would not show it.
  if (method !== 'GET') dropAhead()
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
  const answer = await reachSignedIn(path, init, options.repeatable ?? method === 'GET')
  heardDate(answer.headers.get('Date'))
  if (answer.ok || answer.status === options.alsoTaken) return answer
  if (answer.status === 401) sessionEnded()
  throw new ApiError(answer.status, await sentence(answer))
}

/** How long a new cookie may take from the appliance to this browser (milliseconds), for another of its pages. */
const COOKIE_ON_ITS_WAY = 250

/** What changes something now. Some of it gives this browser another cookie, and the one before opens nothing any more. */
const changing = new Set<Promise<unknown>>()

/** Like `reach`; what was read with the cookie of before is read once more. Whoever asks for `/session` does not know yet whether there is one. */
async function reachSignedIn(path: string, init: RequestInit, repeatable: boolean): Promise<Response> {
  if (init.method !== 'GET') {
    const change = reach(path, init, repeatable)
    changing.add(change)
    return change.finally(() => changing.delete(change))
  }
  const answer = await reach(path, init, repeatable)
  if (answer.status !== 401 || path === '/session') return answer
  await Promise.allSettled(changing)
  await new Promise((resolve) => setTimeout(resolve, COOKIE_ON_ITS_WAY))
  return reach(path, init, repeatable)
}

/** The address of a question; what is empty, null or undefined is left out. */
export function withParameters(
  path: string,
  parameters: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value))
  return `${path}?${query}`
}

let underWay = 0

/** Whether an answer is waited for. */
export const isAsking = (): boolean => underWay > 0

const NO_ANSWER = 'The server does not respond. Check that it is running and that this browser can reach it.'
const UNKNOWN = ' The change may or may not have been made. Check before you try again.'

async function reach(path: string, init: RequestInit, repeatable: boolean): Promise<Response> {
  underWay += 1
  try {
    return await fetch(path, init)
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw new ApiError(0, NO_ANSWER + (repeatable ? '' : UNKNOWN))
  } finally {
    underWay -= 1
  }
}

async function sentence(answer: Response): Promise<string> {
  try {
    return ((await answer.json()) as Static<typeof ErrorBody>).message
  } catch {
    // Not our error shape: a proxy in between answered.
    return `Unexpected response ${answer.status} ${answer.statusText}`.trim()
  }
}

/** The JSON answer to a GET. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(path, signal ? { signal } : {})
  return (await answer.json()) as T
}

/** The JSON answer to a POST that may be made again, for it changes nothing that anybody would miss or find twice. */
export async function question<T>(path: string, body?: unknown): Promise<T> {
  const answer = await request(path, {
    method: 'POST',
    repeatable: true,
    ...(body !== undefined && { body }),
  })
  return (await answer.json()) as T
}

/** The JSON answer to a request that changes something. */
export async function change<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> {
  const answer = await request(path, { method, ...(body !== undefined && { body }) })
  return (await answer.json()) as T
}
