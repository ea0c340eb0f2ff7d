/** Signed requests to an S3 server, with time limits and retries. */
import { randomInt } from 'node:crypto'
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { toBucketFailure, type BucketAddress } from './failures.ts'

export interface BucketAccess extends BucketAddress {
  accessKeyId: string
  secretAccessKey: string
  /** Whether the bucket is in the path of the URL, instead of in its host name. */
  pathStyle: boolean
  /** CA certificates (PEM) to trust instead of Node's own. */
  ca?: string | undefined
  /** Time limits in milliseconds, for tests. */
  limits?: Partial<Limits>
}

interface Limits {
  /** How long a connection may make no progress. */
  idleMs: number
  /** After this time, a request isn't retried. */
  retryMs: number
  /** Pause before the first retry; doubled for each further one. */
  pauseMs: number
}

/** A client of the API waits, often for half a minute, so a request that fails must fail before that. */
const LIMITS: Limits = { idleMs: 8000, retryMs: 12_000, pauseMs: 100 }
const MAX_ATTEMPTS = 4
/** Maximum number of requests at a time. Further ones wait. */
const MAX_CONNECTIONS = 32
/** How long requests wait for one of the connections, in milliseconds. */
const MAX_WAIT_MS = 20_000
/** Maximum time to read a message, in milliseconds: much less than a delivery is leased for. */
const MAX_READ_MS = 100_000
/** Slowest transfer of a message that isn't aborted, in bytes per millisecond. */
const SLOWEST = 50
/** Maximum size of a response, in bytes. Messages are smaller. */
const MAX_RESPONSE = 256 * 1024 * 1024
/** Number of bytes given to a connection at once, which TLS encrypts in well under a millisecond. */
const CHUNK = 64 * 1024
/** SHA-256 of no bytes. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

export interface BucketRequest {
  method: 'GET' | 'PUT' | 'HEAD' | 'DELETE'
  /** Key of the object; empty for the bucket itself. */
  key: string
  query?: Record<string, string>
  /** Additional header fields, by name in lower case. */
  headers?: Record<string, string>
  body?: { bytes: Uint8Array; sha256: string }
  /** Status codes other than 2xx that are returned, not thrown. */
  expected?: readonly number[]
  /** Whether a 404 is returned, too, unless it is the bucket that is missing. */
  isMissingExpected?: boolean
}

export interface BucketResponse {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
  /** Number of the attempt that succeeded, from 1. */
  attempt: number
}

/** Returns the SHA-256 of some bytes in hexadecimal digits. Runs outside the event loop. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength === 0) return EMPTY
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Buffer.from(digest).toString('hex')
}

/** A client for one bucket. */
export class BucketClient {
  readonly address: BucketAddress
  readonly #access: BucketAccess
  readonly #limits: Limits
  readonly #agent: HttpAgent
  /** Signing keys by day, which the signer maintains. */
  readonly #keys = new Map<string, ArrayBuffer>()

  constructor(access: BucketAccess) {
    const { endpoint, region, bucket } = access
    this.#access = access
    this.address = { endpoint, region, bucket }
    this.#limits = { ...LIMITS, ...access.limits }
    const options = { keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_CONNECTIONS }
    this.#agent = endpoint.startsWith('https:')
      ? new HttpsAgent({ ...options, ca: access.ca })
      : new HttpAgent(options)
  }

  /**
   * Makes a request. Repeats it after failures that may pass.
   * @throws BucketFailure
   */
  async send(request: BucketRequest): Promise<BucketResponse> {
    const started = performance.now()
    for (let attempt = 1; ; attempt++) {
      const { response, code } = await this.#once(request)
      if (response && isExpected(request, response)) {
        const { statusCode, headers, body } = response
        return { status: statusCode, headers, body, attempt }
      }
      const problem = { status: response?.statusCode ?? null, code: code ?? codeOf(response!) }
      const late = attempt >= MAX_ATTEMPTS || performance.now() - started > this.#limits.retryMs
      if (late || !isTemporary(problem)) throw toBucketFailure(problem, this.address)
      const pause = this.#limits.pauseMs * 2 ** (attempt - 1)
      await setTimeout(pause + randomInt(pause + 1))
    }
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy()
  }

  /** Makes one attempt. Returns the response, or the code of the error that prevented it. */
  async #once(request: BucketRequest): Promise<{ response?: Received; code: string | null }> {
    try {
      return { response: await this.#exchange(request), code: null }
    } catch (error) {
      const { code, name } = error as NodeJS.ErrnoException
      if (name === 'TimeoutError' || name === 'AbortError') return { code: 'ETIMEDOUT' }
      // Other errors are bugs here and must be visible.
      if (code === undefined || /^ERR_(INVALID|OUT_OF)/.test(code)) throw error
      return { code }
    }
  }

  async #exchange({ method, key, query, headers = {}, body }: BucketRequest): Promise<Received> {
    const { accessKeyId, secretAccessKey, region } = this.#access
    const signed = await new AwsV4Signer({
      method,
      url: this.#url(key, query),
      headers: { ...headers, 'x-amz-content-sha256': body?.sha256 ?? EMPTY },
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      cache: this.#keys,
    }).sign()
    const { url } = signed
    const reading = method === 'GET' && key !== '' ? MAX_READ_MS : 0
    const transfer = body ? Math.ceil(body.bytes.byteLength / SLOWEST) : reading
    const signal = AbortSignal.timeout(MAX_WAIT_MS + transfer)
    const fields = Object.fromEntries(signed.headers)
    const options = {
      method,
      agent: this.#agent,
      headers: body ? { ...fields, 'content-length': body.bytes.byteLength } : fields,
      signal,
      // Unlike `setTimeout` of the request, this also limits connecting.
      timeout: this.#limits.idleMs,
    }
    const sent = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
    sent.once('timeout', () =>
      sent.destroy(Object.assign(new Error('The server made no progress.'), { code: 'ETIMEDOUT' })),
    )
    const received = new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve)
      sent.on('error', reject)
    })
    // Errors also reach `received`. A server may respond before it has read everything, and then read no further.
    const sending = pipeline(Readable.from(chunksOf(body?.bytes)), sent).catch(() => undefined)
    try {
      return await received.then(readResponse)
    } finally {
      if (!sent.writableFinished) sent.destroy()
      await sending
    }
  }

  #url(key: string, query: Record<string, string> = {}): string {
    const { endpoint, bucket, pathStyle } = this.#access
    const url = new URL(endpoint)
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`
    url.pathname = pathStyle ? `/${bucket}${key === '' ? '' : `/${key}`}` : `/${key}`
    url.search = new URLSearchParams(query).toString()
    return url.href
  }
}

/** A response with its body. */
interface Received {
  statusCode: number
  headers: IncomingMessage['headers']
  body: Buffer
}

/** Divides bytes, so that sending a large message doesn't keep the event loop busy. */
function* chunksOf(bytes: Uint8Array = new Uint8Array()): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += CHUNK) yield bytes.subarray(at, at + CHUNK)
}

async function readResponse(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_RESPONSE)
      throw Object.assign(new Error('The response is too large.'), { code: 'EMSGSIZE' })
    chunks.push(chunk)
  }
  return { statusCode: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }
}

function isExpected(
  { expected = [], isMissingExpected = false }: BucketRequest,
  response: Received,
): boolean {
  const { statusCode } = response
  if (statusCode < 300 || expected.includes(statusCode)) return true
  return isMissingExpected && statusCode === 404 && codeOf(response) !== 'NoSuchBucket'
}

/** Whether the same request may succeed in a moment. */
function isTemporary({ status, code }: { status: number | null; code: string }): boolean {
  if (status === null) return !/^(ERR_TLS|CERT_|DEPTH_|UNABLE_TO|SELF_SIGNED|EMSGSIZE)/.test(code)
  return (
    status === 429 ||
    status === 408 ||
    code === 'RequestTimeout' ||
    (status >= 500 && status < 505 && status !== 501)
  )
}

/** Returns the error code in a response, such as `NoSuchKey`. Responses to HEAD have no body. */
const codeOf = ({ statusCode, body }: Received): string =>
  /<Code>([A-Za-z0-9_.]{1,100})<\/Code>/.exec(body.toString('utf8', 0, 4096))?.[1] ?? `status ${statusCode}`
