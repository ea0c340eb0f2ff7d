/** Questions to the daemon's own API, as its clients ask them. */
import { setTimeout as pause } from 'node:timers/promises'

/** Whom to ask, and with which key. */
export interface Asked {
  /** Origin of the API. */
  url: string
  apiKey: string
}

interface ListPage<T> {
  data: T[]
  has_more: boolean
}

const PAGE = 100
/** How long an answer may take, in milliseconds. */
const PATIENCE_MS = 20_000

/** What is asked until there is an answer. */
export interface Insisted {
  /** JSON; undefined: a GET. */
  body?: unknown
  /** The idempotency key, the same in every try. */
  key?: string
  /** Milliseconds until the next try. */
  rest: () => number
}

/** The JSON of an answer. @throws Error that says what was asked and what came, for anything but a 2xx */
export async function ask<T>(
  { url, apiKey }: Asked,
  path: string,
  method: 'GET' | 'POST' = 'GET',
): Promise<T> {
  const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

/** Everything that a list has, page by page. @throws Error as `ask` does */
export async function askAll<T extends { id: string }>(
  asked: Asked,
  path: string,
  query: Record<string, string> = {},
): Promise<T[]> {
  const all: T[] = []
  let after: string | undefined
  for (;;) {
    const search = new URLSearchParams({ ...query, limit: `${PAGE}`, ...(after !== undefined && { after }) })
    const page = await ask<ListPage<T>>(asked, `${path}?${search.toString()}`)
    all.push(...page.data)
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return all
  }
}

/**
 * Asks until it is answered. No answer, an earlier try that is still running, too much at once, and trouble inside are asked again:
 * the same octets under the same key.
 */
export async function insist(
  { url, apiKey }: Asked,
  path: string,
  { body, key, rest }: Insisted,
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
    const answer = await tryOnce(`${url}${path}`, request)
    if (answer && answer.status < 500 && ![409, 429].includes(answer.status)) return answer
    await pause(rest())
  }
}

/** Undefined when no whole answer came. */
async function tryOnce(
  url: string,
  request: RequestInit,
): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(PATIENCE_MS) })
    return { status: response.status, text: await response.text() }
  } catch {
    // The daemon is not there, or died over the request: a client cannot tell more.
    return undefined
  }
}
