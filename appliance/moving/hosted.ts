/**
 * Reads the API of the hosted service (reference: wire format §1, §4): in pages, at the pace that it asks for, and again where it
 * stumbles. Only reads: nothing over there is changed. The key is in no message.
 */
import { decide, restAfter, type Answer } from './pace.ts'

/** An object of the other side, before anybody has looked at its fields. */
export type Wire = Record<string, unknown>

/** The other side cannot be read. The message says what to do. */
export class HostedFailed extends Error {
  /** HTTP status; null where none came or it is not what is wrong. */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}

export interface HostedDeps {
  /** As `readBase` returned it. */
  base: string
  key: string
  /** `User-Agent`; without one the service refuses. */
  agent: string
  /** Waits so many milliseconds. */
  wait: (ms: number) => Promise<void>
  /** Unix milliseconds. */
  now: () => number
  /** Tells a person why nothing happens for a while. */
  tell: (line: string) => void
}

export interface Hosted {
  readonly base: string
  /** Every object of a list, in the other side's order. Rejects with `HostedFailed`, as all here. */
  list(path: string): AsyncGenerator<Wire>
  get(path: string): Promise<Wire>
}

/** The most that the service gives in one page. */
const PAGE = 100
/** For one answer with its body. */
const DEADLINE_MS = 30_000
/** A page of a hundred objects is far smaller. */
const MOST_BYTES = 16 * 1024 * 1024
/** Shorter waits are nothing that a person wonders about. */
const WORTH_TELLING_MS = 3000

/**
 * The address of the API as requests begin with, without a slash at its end. The key travels with each request, so it is https://,
 * or http:// to this machine.
 */
export function readBase(text: string): string {
  const example = '--from must be the URL of the API, such as https://api.example.com'
  if (!URL.canParse(text)) throw new HostedFailed(example)
  const url = new URL(text)
  const plain = url.protocol === 'http:' && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !plain)
    throw new HostedFailed(
      `${example}. It must be https://, because the key is sent to it (http:// only on this machine).`,
    )
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new HostedFailed(`${example}, without a user, a query or a fragment.`)
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)

/** What a key can be: one word of visible ASCII, as a header field takes it. */
export function readKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]{8,200}$/.test(key))
    throw new HostedFailed('The key file must contain only an API key of the hosted service: re_…')
  return key
}

/** Makes the reader. */
export function createHosted(deps: HostedDeps): Hosted {
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
          throw new HostedFailed(`GET ${path}: the list has has_more set, but there is no next page.`)
        cursors.add(last)
        query = `limit=${PAGE}&after=${encodeURIComponent(last)}`
      }
    },
    async get(path) {
      const body = await ask(path)
      if (!isWire(body)) throw new HostedFailed(`GET ${path} did not return an object.`)
      return body
    },
  }
}

/** Asks one question at a time, as often as it takes. */
function createAsking({ base, key, agent, wait, now, tell }: HostedDeps): (path: string) => Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json', 'user-agent': agent }
  // A service may say the key back to us.
  const clean = (text: string): string => text.replaceAll(key, 're_…')
  let restMs = 0
  return async (path) => {
    for (let attempt = 1; ; attempt++) {
      if (restMs > 0) await wait(restMs)
      const answer = await once(base + path, headers)
      restMs = answer.kind === 'answered' ? restAfter(answer.headers) : 0
      const next = decide(answer, attempt, now())
      if (next.kind === 'take') return parsed(next.text, path)
      if (next.kind === 'stop')
        throw new HostedFailed(clean(sentence(path, next.status, next.why)), next.status)
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

async function once(url: string, headers: Record<string, string>): Promise<Answer> {
  try {
    // A redirect would carry the key to wherever it leads.
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    const text = await bodyOf(response)
    return { kind: 'answered', status: response.status, headers: response.headers, text }
  } catch (error) {
    if (error instanceof HostedFailed) throw error
    return { kind: 'broken', why: brokenBy(error) }
  }
}

/** What the network did. Everything that `fetch` throws is about it: the request itself is sound. */
function brokenBy(error: unknown): string {
  if (error instanceof DOMException) return `did not respond within ${DEADLINE_MS / 1000} seconds`
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined
  return `cannot be reached (${cause?.code ?? 'the connection was lost'})`
}

async function bodyOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MOST_BYTES) throw new HostedFailed('The hosted API returned more than 16 MB in one response.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What came instead may be anything, the page of a proxy as well: it is not shown.
    throw new HostedFailed(`GET ${path} did not return JSON. Check that --from is the URL of the API.`)
  }
}

const isWire = (value: unknown): value is Wire =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function pageOf(body: unknown, path: string): { items: Wire[]; hasMore: boolean } {
  if (!isWire(body) || !Array.isArray(body.data) || !body.data.every(isWire))
    throw new HostedFailed(`GET ${path} did not return a list of objects.`)
  return { items: body.data, hasMore: body.has_more === true }
}
