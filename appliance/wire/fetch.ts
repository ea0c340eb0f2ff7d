/**
 * Fetches a URL that an untrusted party chose, without letting it reach our own networks (SSRF). Looks up the name,
 * checks every IP, and connects only to a checked IP, so that DNS rebinding has no effect. No cookies, credentials,
 * proxy or decompression.
 */
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps, type RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import { isForbiddenTarget, type Cidr } from './networks.ts'

const MAX_REDIRECTS = 3
/** Maximum number of IPs of a name to try. */
const MAX_ADDRESSES = 3
const MAX_URL = 8192

/** Dependencies of a guarded fetch. */
export interface FetchDeps {
  /** Returns every IP of a name, IPv4 and IPv6; empty if there is none. Rejects if the lookup fails. */
  lookup: (name: string) => Promise<string[]>
  clock: Clock
  /** Networks that are allowed although they aren't public. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces, which are only allowed if a listed network contains them. */
  ownAddresses: () => readonly string[]
  /** Time limit for everything including lookups, redirects and the body, in milliseconds. */
  deadlineMs: number
  /** The User-Agent header. */
  agent: string
  /** CA certificates (PEM) to trust instead of Node's own. */
  ca?: string | undefined
}

export type FetchResult =
  | {
      kind: 'fetched'
      content: Uint8Array
      /** The Content-Type and Content-Disposition headers as received. */
      contentType: string | null
      disposition: string | null
    }
  /**
   * Why the fetch failed, worded to follow the name of what was fetched, as in "is on a host that cannot be reached".
   * Reveals nothing about our networks. `certificate`: the host's certificate is the problem.
   */
  | { kind: 'failed'; note: string; certificate?: true }

/** Options beyond a plain GET. */
export interface FetchRequest {
  /** Makes the request a POST, for which any 2xx response is a success. */
  post?: { body: Uint8Array; contentType: string }
  /** Maximum number of redirects. The default is 3, and 0 for a POST. */
  redirects?: number
}

export type GuardedFetch = (
  url: URL,
  count: (bytes: number) => void,
  request?: FetchRequest,
) => Promise<FetchResult>

/** An error that ends a fetch, with a message for the caller. */
class Failed extends Error {
  readonly certificate: boolean

  constructor(message: string, certificate = false) {
    super(message)
    this.certificate = certificate
  }
}

/**
 * Returns the same error for names that don't exist and for names with internal addresses, because a difference would
 * reveal our networks.
 */
const notPublic = () => new Failed('must be on a host with a public address')

/** Returns why a URL can't be fetched at all, worded as the rest of a sentence; undefined if it can be tried. */
export function findUrlProblem(url: URL): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must be an http:// or https:// URL'
  if (url.href.length > MAX_URL) return `must be at most ${MAX_URL} characters long`
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  // Mail servers and servers of other old protocols listen on these ports, and would parse a request as commands.
  if (url.port !== '' && Number(url.port) < 1024) return 'must use port 80, 443 or one above 1023'
  return undefined
}

/**
 * Creates the fetcher. A fetch resolves with the body of a 200 response, or with the reason of a failure. It rejects
 * only with errors that `count` throws. `count` is called for every chunk before it is stored, so it can limit the
 * size.
 */
export function createGuardedFetch(deps: FetchDeps): GuardedFetch {
  return async (url, count, request = {}) => {
    const stop = new AbortController()
    const seconds = Math.round(deps.deadlineMs / 1000)
    const late = new Failed(`did not arrive within ${seconds} seconds`)
    const cancel = deps.clock.after(deps.deadlineMs, () => stop.abort(late))
    try {
      const { response, end } = await follow(url, { ...deps, request, signal: stop.signal })
      try {
        return await read(response, count, stop.signal)
      } finally {
        end()
      }
    } catch (error) {
      if (error instanceof Failed)
        return { kind: 'failed', note: error.message, ...(error.certificate ? { certificate: true } : {}) }
      throw error
    } finally {
      cancel()
    }
  }
}

type Deps = FetchDeps & { request: FetchRequest; signal: AbortSignal }

interface Answer {
  response: IncomingMessage
  /** Closes the connection, whatever its state. */
  end: () => void
}

/** Follows redirects, and checks every hop like the first. */
async function follow(first: URL, deps: Deps): Promise<Answer> {
  const { post, redirects = post ? 0 : MAX_REDIRECTS } = deps.request
  let url = first
  for (let hops = 0; ; hops++) {
    const problem = findUrlProblem(url)
    if (problem !== undefined) throw new Failed(problem)
    const answer = await askAny(url, await addressesOf(url, deps), deps)
    const { statusCode = 0, headers } = answer.response
    if (statusCode === 200 || (post && statusCode >= 200 && statusCode < 300)) return answer
    answer.end()
    const redirect = [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined
    if (redirect === undefined) throw new Failed(`returned status ${statusCode} instead of 200`)
    if (hops === redirects)
      throw new Failed(redirects === 0 ? 'redirects' : `redirects more than ${redirects} times`)
    if (!URL.canParse(redirect, url.href)) throw new Failed('redirects to an invalid URL')
    url = new URL(redirect, url)
  }
}

/** Returns the allowed IPs. The URL parser has already converted 0x7f.1 and 2130706433 to 127.0.0.1. */
async function addressesOf({ hostname }: URL, deps: Deps): Promise<string[]> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const all = isIP(host) === 0 ? await lookUp(host, deps) : [host]
  const own = deps.ownAddresses()
  const allowed = all.filter((ip) => !isForbiddenTarget(ip, deps.allowNetworks, own))
  if (allowed.length === 0) throw notPublic()
  return allowed.slice(0, MAX_ADDRESSES)
}

/** Whether a name can exist in DNS (RFC 1035 §2.3.4). If not, a lookup isn't needed, and a retry wouldn't help. */
const isName = (host: string): boolean =>
  host.length <= 253 && host.split('.').every((label) => label.length >= 1 && label.length <= 63)

async function lookUp(host: string, { lookup, signal }: Deps): Promise<string[]> {
  if (!isName(host)) return []
  const found = lookup(host).catch(() => {
    // Use a fixed message, because the resolver's message contains the names of our servers.
    throw new Failed('is on a host that cannot be resolved right now')
  })
  return orAbort(found, signal)
}

/** Tries the IPs one after the other until one responds. */
async function askAny(url: URL, addresses: string[], deps: Deps): Promise<Answer> {
  let problem = notPublic()
  for (const ip of addresses) {
    try {
      return await ask(url, ip, deps)
    } catch (error) {
      if (!(error instanceof Failed) || deps.signal.aborted) throw error
      problem = error
    }
  }
  throw problem
}

/** Makes a request on a new connection to exactly this IP. Resolves with the head of the response. */
function ask(url: URL, ip: string, { agent, ca, signal, request: { post } }: Deps): Promise<Answer> {
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options: RequestOptions = {
    host: ip,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname + url.search,
    method: post ? 'POST' : 'GET',
    // An agent could reuse a connection made for another name.
    agent: false,
    headers: {
      host: url.host,
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': agent,
      connection: 'close',
      ...(post ? { 'content-type': post.contentType, 'content-length': post.body.length } : {}),
    },
    // The certificate must be for the name, although the connection goes to an IP. SNI accepts names only (RFC 6066
    // §3).
    servername: isIP(name) === 0 ? name.replace(/\.$/, '') : '',
    ca,
  }
  const request = url.protocol === 'https:' ? requestHttps(options) : requestHttp(options)
  return orAbort(
    new Promise((resolve, reject) => {
      const end = () => void request.destroy()
      request.on('response', (response) => resolve({ response, end }))
      // Also handles errors during the body, which the response reports.
      request.on('error', (error) => reject(explain(error)))
      request.on('close', () => reject(new Failed('did not return a valid HTTP response')))
      request.end(post?.body)
    }),
    signal,
    request,
  )
}

/** Waits for `work` until the signal aborts. On abort, destroys the request and rejects. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal, request?: ClientRequest): Promise<T> {
  signal.throwIfAborted()
  return new Promise<T>((resolve, reject) => {
    const abort = () => {
      request?.destroy()
      reject(signal.reason as Failed)
    }
    signal.addEventListener('abort', abort, { once: true })
    const done = () => signal.removeEventListener('abort', abort)
    work.then(resolve, reject).finally(done)
  })
}

/** Explains an error without naming IPs, which the messages of socket errors contain. */
function explain(error: NodeJS.ErrnoException): Failed {
  const code = error.code ?? ''
  if (code === 'ECONNREFUSED') return new Failed('is on a host that refuses connections')
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH)/.test(code))
    return new Failed('is on a host whose TLS certificate cannot be verified', true)
  if (code.startsWith('HPE_')) return new Failed('did not return a valid HTTP response')
  return new Failed('is on a host that cannot be reached')
}

/** Reads a body. `count` throws if the body is too large. */
async function read(
  response: IncomingMessage,
  count: (bytes: number) => void,
  signal: AbortSignal,
): Promise<FetchResult> {
  const { headers } = response
  // Refuse compressed responses. They weren't requested, and a kilobyte could inflate to a gigabyte.
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new Failed('returned compressed content that was not requested')
  const chunks: Buffer[] = []
  const abort = () => response.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      count(chunk.length)
      chunks.push(chunk)
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const broken = (error as NodeJS.ErrnoException).code
    if (broken === undefined) throw error
    throw new Failed('ended before all data was received')
  } finally {
    signal.removeEventListener('abort', abort)
  }
  if (signal.aborted) throw signal.reason
  return {
    kind: 'fetched',
    content: Buffer.concat(chunks),
    contentType: headers['content-type'] ?? null,
    disposition: headers['content-disposition'] ?? null,
  }
}
