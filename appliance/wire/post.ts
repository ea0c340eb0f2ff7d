/**
 * Posts repeatedly to URLs that untrusted parties chose, without letting them reach our own networks. As in `fetch.ts`,
 * the name is looked up here and every IP is checked before connecting. Unlike there, connections are kept alive. Each
 * owner of a URL has a separate set of connections, so that none is shared. No redirects, cookies, credentials, proxy
 * or decompression.
 */
import {
  Agent as HttpAgent,
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import { findUrlProblem } from './fetch.ts'
import { isInNetworks, isForbiddenTarget, type Cidr } from './networks.ts'

/** Maximum number of IPs of a name to try. */
const MAX_ADDRESSES = 3
/** Maximum number of sets of kept connections. The least recently used set is dropped first. */
const MAX_KEPT = 1000
/** How long an idle connection is kept, in milliseconds. */
const IDLE_MS = 30_000
/** Maximum size of a response's header, in octets. */
const MAX_HEADERS = 16_384
/** Maximum number of header fields kept. */
const MAX_FIELDS = 50

export interface PostClientDeps {
  /** Returns every IP of a name, IPv4 and IPv6; empty if there is none. Rejects if the lookup fails. */
  lookup: (name: string) => Promise<string[]>
  clock: Clock
  /** Networks that are allowed although they aren't public, and without TLS. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces, which are only allowed if a listed network contains them. */
  ownAddresses: () => readonly string[]
  /** Time limit for a request: lookup, connection, and response with its body (milliseconds). */
  deadlineMs: number
  /** Maximum number of bytes of a response's body to read, and the number of bytes to keep. */
  readBytes: number
  keepBytes: number
  /** CA certificates (PEM) to trust instead of Node's own. */
  ca?: string | undefined
}

export interface PostRequest {
  url: string
  /** Requests with the same owner share connections. */
  owner: string
  /** Header fields, by name in lower case. */
  headers: Record<string, string>
  body: string
}

/**
 * The result of a request. A failure has `error`, a sentence that reveals nothing about our networks; it may also have
 * a status.
 */
export interface PostResult {
  status: number | null
  error: string | null
  /** The IP that responded, or that was contacted last. */
  ip: string | null
  responseHeaders: Record<string, string>
  /** The beginning of the response's body. */
  response: string
}

export interface PostClient {
  /** Makes a request. Never rejects: failures of the endpoint are returned in the result. */
  post(request: PostRequest): Promise<PostResult>
  /** Closes kept connections and aborts requests in flight. */
  close(): void
}

class Failed extends Error {}

/** Creates the poster. */
export function createPostClient(deps: PostClientDeps): PostClient {
  const agents = createAgents(deps.ca)
  const closing = new AbortController()
  return {
    async post(request) {
      const stop = new AbortController()
      const late = new Failed(
        `The endpoint did not respond within ${Math.round(deps.deadlineMs / 1000)} seconds.`,
      )
      const cancel = deps.clock.after(deps.deadlineMs, () => stop.abort(late))
      const end = (): void => stop.abort(new Failed('The server stopped during the request.'))
      closing.signal.addEventListener('abort', end, { once: true })
      const posted: PostResult = { status: null, error: null, ip: null, responseHeaders: {}, response: '' }
      try {
        if (closing.signal.aborted) end()
        await ask(request, posted, { ...deps, signal: stop.signal, agents })
      } catch (error) {
        // Network failures are always a Failed. Anything else is a bug here and must be visible.
        if (!(error instanceof Failed)) throw error
        posted.error = error.message
      } finally {
        cancel()
        closing.signal.removeEventListener('abort', end)
      }
      return posted
    },
    close() {
      closing.abort()
      agents.close()
    },
  }
}

interface Agents {
  of(url: URL, owner: string): HttpAgent
  close(): void
}

function createAgents(ca: string | undefined): Agents {
  const kept = new Map<string, HttpAgent>()
  const options = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 16 }
  return {
    of(url, owner) {
      const key = `${owner} ${url.origin}`
      const secure = url.protocol === 'https:'
      const agent = kept.get(key) ?? (secure ? new HttpsAgent({ ...options, ca }) : new HttpAgent(options))
      // A map keeps insertion order, so re-inserting moves an entry to the end.
      kept.delete(key)
      kept.set(key, agent)
      if (kept.size > MAX_KEPT) {
        const [oldest, unused] = kept.entries().next().value!
        kept.delete(oldest)
        // Requests in flight can finish; idle connections are closed by their timeout.
        unused.maxFreeSockets = 0
      }
      return agent
    },
    close() {
      for (const agent of kept.values()) agent.destroy()
      kept.clear()
    },
  }
}

type Deps = PostClientDeps & { signal: AbortSignal; agents: Agents }

async function ask(request: PostRequest, posted: PostResult, deps: Deps): Promise<void> {
  const url = new URL(request.url)
  const problem = findUrlProblem(url)
  if (problem !== undefined) throw new Failed(`The URL ${problem}.`)
  const addresses = await orAbort(addressesOf(url, deps), deps.signal)
  try {
    await once(request, { url, addresses, reuse: true }, posted, deps)
  } catch (error) {
    // The endpoint closed a kept connection just as it was used, so it can't have received the request.
    if (!(error instanceof Stale) || deps.signal.aborted) throw error
    await once(request, { url, addresses, reuse: false }, posted, deps)
  }
}

/** Thrown when a kept connection turns out to be closed. */
class Stale extends Failed {}

/** Returns the allowed IPs. The URL parser has already converted 0x7f.1 and 2130706433 to 127.0.0.1. */
async function addressesOf(url: URL, { lookup, allowNetworks, ownAddresses }: Deps): Promise<string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const all = isIP(host) === 0 ? await lookUp(host, lookup) : [host]
  const own = ownAddresses()
  const allowed = all.filter((ip) => !isForbiddenTarget(ip, allowNetworks, own))
  // Use the same message for names that don't exist and for names with internal addresses, because a difference would
  // reveal our networks.
  if (allowed.length === 0)
    throw new Failed('The endpoint must be on a host with a public address, or in webhooks.allow_networks.')
  const plain = url.protocol === 'http:'
  const fit = plain ? allowed.filter((ip) => isInNetworks(ip, allowNetworks)) : allowed
  if (fit.length === 0)
    throw new Failed('The endpoint must use https:// (http:// only for networks in webhooks.allow_networks).')
  return fit.slice(0, MAX_ADDRESSES)
}

async function lookUp(host: string, lookup: Deps['lookup']): Promise<string[]> {
  // localhost is always this machine (RFC 6761 §6.3).
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1']
  try {
    return await lookup(host)
  } catch {
    // Use a fixed message, because the resolver's message contains the names of our servers.
    throw new Failed("The endpoint's host cannot be resolved right now.")
  }
}

/** Waits for `work` until the signal aborts. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Failed)
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

interface Target {
  url: URL
  addresses: string[]
  /** Whether a kept connection may be used. */
  reuse: boolean
}

/** Makes a request on a kept connection, or on a new one to exactly these IPs. */
function once(request: PostRequest, target: Target, posted: PostResult, deps: Deps): Promise<void> {
  const { url } = target
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const options: RequestOptions = {
    host: name,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname + url.search,
    method: 'POST',
    agent: target.reuse ? deps.agents.of(url, request.owner) : false,
    headers: { ...request.headers, host: url.host, 'content-length': Buffer.byteLength(request.body) },
    // A new connection can only go to one of the checked IPs.
    lookup: lookupOf(target.addresses),
    maxHeaderSize: MAX_HEADERS,
    // SNI accepts names only (RFC 6066 §3).
    servername: isIP(name) === 0 ? name.replace(/\.$/, '') : '',
    ...(target.reuse ? {} : { ca: deps.ca }),
  }
  const sent = url.protocol === 'https:' ? requestHttps(options) : requestHttp(options)
  return new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      // Once a response has begun, the code that reads it reports the result.
      if (posted.status === null) reject(deps.signal.reason as Failed)
      sent.destroy()
    }
    deps.signal.addEventListener('abort', abort, { once: true })
    const done = (): void => deps.signal.removeEventListener('abort', abort)
    sent.on('socket', (socket) => {
      const note = (): void => void (posted.ip = socket.remoteAddress ?? posted.ip)
      if (socket.connecting) socket.once('connect', note)
      else note()
    })
    sent.on('error', (error) => {
      done()
      reject(explain(error, sent))
    })
    sent.on('response', (response) => {
      read(response, sent, posted, deps).then(resolve, reject).finally(done)
    })
    sent.end(request.body)
  })
}

/** Returns a lookup function that resolves every name to these checked IPs. */
function lookupOf(addresses: string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    if (options.all) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

/** Explains an error without naming IPs, which the messages of socket errors contain. */
function explain(error: NodeJS.ErrnoException, sent: ClientRequest): Failed {
  const code = error.code ?? ''
  if (sent.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE'))
    return new Stale('The endpoint closed the connection.')
  if (code === 'ECONNREFUSED') return new Failed('The endpoint refused the connection.')
  if (code === 'ECONNRESET') return new Failed('The endpoint closed the connection without a response.')
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH)/.test(code))
    return new Failed(`TLS with the endpoint failed: ${code}.`)
  if (code.startsWith('HPE_')) return new Failed('The endpoint did not return a valid HTTP response.')
  return new Failed(`The endpoint could not be reached: ${code || 'unknown error'}.`)
}

/** Reads the response. Any 2xx is a success once its body has ended or exceeds the limit. */
async function read(
  response: IncomingMessage,
  sent: ClientRequest,
  posted: PostResult,
  deps: Deps,
): Promise<void> {
  const { statusCode = 0, headers } = response
  posted.status = statusCode
  posted.responseHeaders = fieldsOf(headers)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (size < deps.keepBytes) chunks.push(chunk)
      size += chunk.length
      if (size >= deps.readBytes) {
        sent.destroy()
        break
      }
    }
  } catch (error) {
    if (deps.signal.aborted) throw deps.signal.reason
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw new Failed('The endpoint ended its response early.')
  } finally {
    posted.response = Buffer.concat(chunks)
      .subarray(0, deps.keepBytes)
      .toString()
      .replaceAll('\0', '\u{fffd}')
  }
  if (statusCode >= 200 && statusCode < 300) return
  if (statusCode >= 300 && statusCode < 400)
    throw new Failed(
      `The endpoint redirects (status ${statusCode}); redirects are not followed. Change its URL.`,
    )
  throw new Failed(`The endpoint returned status ${statusCode}.`)
}

function fieldsOf(headers: IncomingMessage['headers']): Record<string, string> {
  const fields = Object.entries(headers).slice(0, MAX_FIELDS)
  return Object.fromEntries(
    fields.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}
