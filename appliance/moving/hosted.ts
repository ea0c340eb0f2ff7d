/**
 * Reads the API of the hosted service (reference: wire format §1, §4): page by page, within its rate limit, with
 * retries. Never changes anything there. The key never appears in a message.
 */
import { JsonBounds } from '../mail/json-body.ts'
import { Refusal } from '../mail/refusals.ts'
import { decideNextStep, computeRateLimitDelay, type HostedResponse } from './pace.ts'

/** An object from the hosted service, not validated. */
export type HostedObject = Record<string, unknown>

/** The hosted service can't be read. The message tells the user what to do. */
export class HostedError extends Error {
  /** HTTP status; null when there was no response, or when the status isn't the problem. */
  readonly status: number | null

  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

export interface HostedClientDeps {
  /** Base URL, as returned by `parseBaseUrl`. */
  base: string
  key: string
  /** The User-Agent header, which the service requires. */
  agent: string
  /** Waits for this many milliseconds. */
  wait: (ms: number) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
  /** Tells the user the reason for a long wait. */
  tell: (line: string) => void
}

export interface HostedClient {
  readonly base: string
  /** Yields every object of a list, in the service's order. Rejects with `HostedError`, like all methods. */
  list(path: string): AsyncGenerator<HostedObject>
  get(path: string): Promise<HostedObject>
}

/** The service's maximum page size. */
const PAGE = 100
/** Time limit for a response with its body, in milliseconds. */
const DEADLINE_MS = 30_000
/** Maximum response size in octets; a page of a hundred objects is far smaller. */
const MOST_BYTES = 16 * 1024 * 1024
/** Minimum length of a wait that is reported to the user, in milliseconds. */
const WORTH_TELLING_MS = 3000

/**
 * Parses the base URL of the API, without a trailing slash. Requires https://, or http:// to this machine, because
 * every request contains the key.
 */
export function parseBaseUrl(text: string): string {
  const example = '--from must be the URL of the API, such as https://api.example.com'
  if (!URL.canParse(text)) throw new HostedError(example)
  const url = new URL(text)
  const plain = url.protocol === 'http:' && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !plain)
    throw new HostedError(
      `${example}. It must be https://, because the key is sent to it (http:// only on this machine).`,
    )
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new HostedError(`${example}, without a user, a query or a fragment.`)
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)

/** Validates a key: one word of visible ASCII, so that it fits in a header field. */
export function validateKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]{8,200}$/.test(key))
    throw new HostedError('The key file must contain only an API key of the hosted service: re_…')
  return key
}

/** Creates the reader. */
export function createHostedClient(deps: HostedClientDeps): HostedClient {
  const { base } = deps
  const ask = createAsking(deps)
  return {
    base,
    async *list(path) {
      const cursors = new Set<string>()
      for (let query = `limit=${PAGE}`; ;) {
        const page = pageOf(await ask(`${path}?${query}`), path)
        yield* page.items
        if (!page.hasMore) return
        const last = page.items.at(-1)?.id
        if (typeof last !== 'string' || cursors.has(last))
          throw new HostedError(`GET ${path}: the list has has_more set, but there is no next page.`)
        cursors.add(last)
        query = `limit=${PAGE}&after=${encodeURIComponent(last)}`
      }
    },
    async get(path) {
      const body = await ask(path)
      if (!isWire(body)) throw new HostedError(`GET ${path} did not return an object.`)
      return body
    },
  }
}

/** Makes one request, with retries. */
function createAsking({
  base,
  key,
  agent,
  wait,
  now,
  tell,
}: HostedClientDeps): (path: string) => Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json', 'user-agent': agent }
  // The service may echo the key.
  const clean = (text: string): string => text.replaceAll(key, 're_…')
  let restMs = 0
  return async (path) => {
    for (let attempt = 1; ; attempt++) {
      if (restMs > 0) await wait(restMs)
      const answer = await once(base + path, headers)
      restMs = answer.kind === 'answered' ? computeRateLimitDelay(answer.headers) : 0
      const next = decideNextStep(answer, attempt, now())
      if (next.kind === 'take') return parsed(next.text, path)
      if (next.kind === 'stop')
        throw new HostedError(clean(sentence(path, next.status, next.why)), next.status)
      if (next.afterMs >= WORTH_TELLING_MS) tell(clean(`GET ${path}: the hosted API ${next.why}.`))
      restMs = 0
      await wait(next.afterMs)
    }
  }
}

function sentence(path: string, status: number | null, why: string): string {
  const said = `GET ${path}: the hosted API ${why}.`
  if (status === 401 || status === 403)
    return `${said} The key file must contain a valid key with full access.`
  if (status === 429) return `${said} Run the import again later. Completed steps are kept.`
  return status === null || status >= 500
    ? `${said} Run the import again when the hosted API responds. Completed steps are kept.`
    : said
}

async function once(url: string, headers: Record<string, string>): Promise<HostedResponse> {
  try {
    // A redirect would send the key to another server.
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    const text = await bodyOf(response)
    return { kind: 'answered', status: response.status, headers: response.headers, text }
  } catch (error) {
    if (error instanceof HostedError) throw error
    return { kind: 'broken', why: brokenBy(error) }
  }
}

/** Describes a network error. `fetch` throws only these, because the request itself is valid. */
function brokenBy(error: unknown): string {
  if (error instanceof DOMException) return `did not respond within ${DEADLINE_MS / 1000} seconds`
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined
  return `cannot be reached (${cause?.code ?? 'the connection was lost'})`
}

async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  const bounds = new JsonBounds()
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new HostedError('The hosted API returned more than 16 MB in one response.')
    feed(bounds, chunk)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Stops before JSON whose structure needs far more memory than its size suggests. */
function feed(bounds: JsonBounds, chunk: Uint8Array): void {
  try {
    bounds.feed(chunk)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new HostedError(`The hosted API returned JSON that is too complex. ${error.message}`)
  }
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The response may be anything, such as a proxy's error page, so it isn't shown.
    throw new HostedError(`GET ${path} did not return JSON. Check that --from is the URL of the API.`)
  }
}

const isWire = (value: unknown): value is HostedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function pageOf(body: unknown, path: string): { items: HostedObject[]; hasMore: boolean } {
  if (!isWire(body) || !Array.isArray(body.data) || !body.data.every(isWire))
    throw new HostedError(`GET ${path} did not return a list of objects.`)
  return { items: body.data, hasMore: body.has_more === true }
}
