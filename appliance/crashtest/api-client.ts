/** Requests to the daemon's API, as its clients send them. */
import { setTimeout as pause } from 'node:timers/promises'

/** The API to call, and the key to use. */
export interface ApiTarget {
  /** Returns the origin of the API for the next request: that of one of the nodes. */
  url: () => string
  apiKey: string
}

interface ListPage<T> {
  data: T[]
  has_more: boolean
}

const PAGE = 100
/** Maximum number of concurrent requests of `forEachConcurrently`. */
const AT_ONCE = 16
/** Timeout of a request, in milliseconds. */
const PATIENCE_MS = 20_000

/** Calls `work`, which makes requests, for all items, several at a time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}

/** A request to repeat until there is a response. */
export interface RepeatedRequest {
  /** Request body, sent as JSON; undefined for a GET. */
  body?: unknown
  /** The idempotency key, the same in every attempt. */
  key?: string
  /** Returns the milliseconds until the next attempt. */
  rest: () => number
}

/** Returns the text of a response. @throws Error with the request and the response, unless it is a 2xx */
export async function fetchText(
  { url, apiKey }: ApiTarget,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<string> {
  const response = await fetch(`${url()}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return text
}

/** Returns the JSON of a response. @throws Error as `fetchText` does */
export const fetchJson = async <T>(
  asked: ApiTarget,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<T> => JSON.parse(await fetchText(asked, path, method)) as T

/** Returns a whole list, page by page. @throws Error as `ask` does */
export async function fetchAllPages<T extends { id: string }>(
  asked: ApiTarget,
  path: string,
  query: Record<string, string> = {},
): Promise<T[]> {
  const all: T[] = []
  let after: string | undefined
  for (;;) {
    const search = new URLSearchParams({ ...query, limit: `${PAGE}`, ...(after !== undefined && { after }) })
    const page = await fetchJson<ListPage<T>>(asked, `${path}?${search.toString()}`)
    all.push(...page.data)
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return all
  }
}

/**
 * Repeats a request until it gets a response. Retries after no response, a request still in progress, rate limiting and
 * internal errors, with an identical body and the same key.
 */
export async function requestWithRetry(
  { url, apiKey }: ApiTarget,
  path: string,
  { body, key, rest }: RepeatedRequest,
): Promise<{ status: number; text: string }> {
  const request: RequestInit = {
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  }
  for (;;) {
    const answer = await tryOnce(`${url()}${path}`, request)
    if (answer && answer.status < 500 && ![409, 429].includes(answer.status)) return answer
    await pause(rest())
  }
}

/** Makes one attempt. Returns undefined if there was no complete response. */
async function tryOnce(
  url: string,
  request: RequestInit,
): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(PATIENCE_MS) })
    return { status: response.status, text: await response.text() }
  } catch {
    // The daemon isn't running, or died during the request. A client can't tell the difference.
    return undefined
  }
}
