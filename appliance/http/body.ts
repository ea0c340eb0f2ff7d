/** Reads JSON request bodies with limits on size, structure, rate and memory; parses large ones in a thread. */
import type { FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import {
  createThreads,
  ThreadEndedError,
  type Capacity,
  type IncomingBody,
  type Threads,
} from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { JsonBounds } from '../mail/json-body.ts'
import { refuse } from '../mail/refusals.ts'
import type { App } from './deps.ts'
import type { JsonJob, JsonResult } from './json-worker.ts'
import { destroySoon } from './listeners.ts'
import { MAX_UNAUTHENTICATED_BODY } from './sign-in.ts'
import { hasTooManySmallChunks, CHUNK_REQUIREMENT } from './tiny-chunks.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The digest of the body (`computeBodyDigest`) if a thread has computed it, else undefined. */
    bodyDigest: string | undefined
    /** The response to this request. The request ends when the response closes. */
    response: ServerResponse
  }
}

/**
 * Maximum size in octets of a body that is parsed on the event loop, which takes at most 10 ms within the limits of
 * `JsonBounds`.
 */
const SMALL = 512 * 1024
/** Heap size of a parsing thread in MB, for the octets as text, the strings in it, and the values. */
const THREAD_HEAP_MB = 512
const THREAD_DEADLINE = 15_000
const THREADS = 2
/** Maximum number of bodies of one team that wait for a thread. */
const WAITING = 32
/** How long to keep reading from a client that sends too much, so that it receives the response, in milliseconds. */
const LINGER = 10_000
/** The byte order mark U+FEFF in UTF-8. */
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

interface Reading {
  capacity: Capacity
  clock: Clock
  threads: Threads<JsonJob, JsonResult>
}

/**
 * Reads bodies of any content type. Unless it is empty, a body must be JSON.
 * @param limit maximum size in octets
 */
export function registerBodyParser(
  app: App,
  limit: number,
  deps: { capacity: Capacity; clock: Clock },
): void {
  const { capacity, clock } = deps
  const threads = createThreads<JsonJob, JsonResult>({
    script: new URL('json-worker.ts', import.meta.url),
    clock,
    most: THREADS,
    waiting: WAITING,
    deadlineMs: THREAD_DEADLINE,
    heapMb: THREAD_HEAP_MB,
  })
  const reading = { capacity, clock, threads }
  app.decorateRequest('bodyDigest', undefined)
  app.decorateRequest('response')
  app.addHook('onRequest', (request, reply, done) => {
    request.response = reply.raw
    done()
  })
  app.addHook('onClose', () => threads.close())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { bodyLimit: limit }, async (request: FastifyRequest, payload: Readable) => {
    const allowed = request.caller ? limit : MAX_UNAUTHENTICATED_BODY
    const body = await receive(request, payload, Math.min(allowed, request.routeOptions.bodyLimit), reading)
    // Some clients send `{}` or a content type with DELETE (reference: wire format §8). Unknown paths read nothing.
    const size = body instanceof Uint8Array ? body.length : body.size
    if (size === 0 || request.method === 'DELETE' || request.is404) return undefined
    if (request.routeOptions.config.form) return body instanceof Uint8Array ? body : body.whole()
    checkHeaders(request)
    return body instanceof Uint8Array ? parse(body) : parseLarge(request, body, reading)
  })
}

/** Refuses: `unsupported_body`, `compressed_body`. */
function checkHeaders({ headers }: FastifyRequest): void {
  const type = headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase() ?? ''
  if (!/^application\/(.+\+)?json$/.test(type)) throw refuse('unsupported_body')
  if (isEncoded(headers)) throw refuse('compressed_body')
}

/** Whether the body has a content or transfer coding to undo (RFC 9110 §8.4, RFC 9112 §6.1). */
function isEncoded(headers: IncomingHttpHeaders): boolean {
  const content = headers['content-encoding']?.toLowerCase() ?? ''
  const transfer = headers['transfer-encoding']?.toLowerCase() ?? 'chunked'
  return (content !== '' && content !== 'identity') || transfer !== 'chunked'
}

const bomOf = (bytes: Uint8Array): number => (BOM.equals(bytes.subarray(0, BOM.length)) ? BOM.length : 0)

function parse(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw refuse('body_not_utf8')
  const skip = bomOf(bytes)
  try {
    // A byte order mark isn't JSON, but may be ignored (RFC 8259 §8.1).
    return JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset + skip, bytes.length - skip).toString('utf8'),
    )
  } catch (error) {
    // The parser's message quotes the body, which shouldn't be logged.
    if (error instanceof SyntaxError) throw refuse('malformed_body')
    throw error
  }
}

/** Reserves memory for the body until the request ends, then parses the body. Refuses: `overloaded` and more. */
async function parseLarge(request: FastifyRequest, body: IncomingBody, reading: Reading): Promise<unknown> {
  const team = request.caller?.teamId ?? null
  const { response } = request
  const turn = await reading.capacity.turns.take(team, body.size)
  const end = (): void => turn[Symbol.dispose]()
  if (response.closed) end()
  else response.once('close', end)
  const bytes = await body.whole()
  if (bytes.length <= SMALL) return parse(bytes)
  body.discard()
  const digest = request.headers['idempotency-key'] !== undefined
  const result = await inThread(reading.threads, { bytes, skip: bomOf(bytes), digest }, team)
  if ('wrong' in result) throw refuse(result.wrong === 'malformed' ? 'malformed_body' : 'body_not_utf8')
  request.bodyDigest = result.digest ?? undefined
  return result.value
}

async function inThread(
  threads: Threads<JsonJob, JsonResult>,
  job: JsonJob,
  team: string | null,
): Promise<JsonResult> {
  // For a body in memory, `whole` returns a view of a larger buffer, which can't be transferred to a thread.
  const own = job.bytes.byteLength === job.bytes.buffer.byteLength
  try {
    return await threads.run(job, team, { moved: own ? [job.bytes.buffer as ArrayBuffer] : [] })
  } catch (error) {
    if (error instanceof ThreadEndedError)
      throw refuse('body_too_complex', { expected: 'a body that needs less time and memory to parse' })
    throw error
  }
}

/**
 * Receives a body. A body that arrives in one chunk is returned as it is; any other body counts towards the limits of
 * its team or address. After a limit is exceeded, keeps reading for a while without storing, so that the client
 * receives the response. Refuses: `body_too_large`, `body_too_complex`, `body_too_slow`, `share_used`, `disk_full`,
 * `malformed_request`.
 */
function receive(
  request: FastifyRequest,
  payload: Readable,
  limit: number,
  reading: Reading,
): Promise<Uint8Array | IncomingBody> {
  return new Promise((resolve, reject) => {
    new Receiver(request, payload, { limit, ...reading, resolve, reject }).begin()
  })
}

interface Receipt extends Pick<Reading, 'capacity' | 'clock'> {
  /** Maximum size in octets. */
  limit: number
  resolve: (body: Uint8Array | IncomingBody) => void
  reject: (error: Error) => void
}

/** A body being received. */
class Receiver {
  readonly #request: FastifyRequest
  readonly #payload: Readable
  readonly #receipt: Receipt
  readonly #bounds = new JsonBounds()
  /** The only chunk so far, which isn't copied. */
  #first: Buffer | null = null
  #incoming: IncomingBody | null = null
  #unwatch = (): void => undefined
  /** Whether reading has stopped. */
  #left = false
  size = 0

  constructor(request: FastifyRequest, payload: Readable, receipt: Receipt) {
    this.#request = request
    this.#payload = payload
    this.#receipt = receipt
  }

  begin(): void {
    const { limit, capacity, resolve } = this.#receipt
    if (Number(this.#request.raw.headers['content-length'] ?? 0) > limit)
      return this.#giveUp(refuse('body_too_large', { limit }))
    this.#unwatch = capacity.pace.watch(this)
    // Does the same as `stream.finished` with a third of its listeners. Every request closes eventually; after the end,
    // that is no error.
    this.#payload.on('data', this.#keep).once('error', this.#broken).once('close', this.#broken)
    this.#payload.once('end', () => {
      this.#unwatch()
      this.#payload.removeListener('close', this.#broken)
      resolve(this.#incoming ?? this.#first ?? Buffer.alloc(0))
    })
    const { raw } = this.#request
    if (hasTooManySmallChunks(raw)) return this.#torn()
    raw.once('torn', this.#torn)
    if (this.#payload.closed) this.#broken()
  }

  tooSlow(): void {
    this.#giveUp(refuse('body_too_slow'), 0)
  }

  readonly #broken = (): void => {
    this.#unwatch()
    this.#incoming?.discard()
    this.#receipt.reject(refuse('malformed_request'))
  }

  readonly #keep = (chunk: Buffer): void => {
    const { limit } = this.#receipt
    this.size += chunk.length
    try {
      if (this.size > limit) throw refuse('body_too_large', { limit })
      this.#bounds.feed(chunk)
      if (!this.#first && !this.#incoming) {
        this.#first = chunk
        return
      }
      if (this.#first) this.#add(this.#first)
      this.#first = null
      this.#add(chunk)
    } catch (error) {
      this.#giveUp(error as Error)
    }
  }

  #add(chunk: Buffer): void {
    this.#incoming ??= this.#open()
    const full = this.#incoming.add(chunk)
    if (!full) return
    this.#payload.pause()
    full.then(
      () => this.#payload.resume(),
      (error: Error) => this.#giveUp(error),
    )
  }

  #open(): IncomingBody {
    const { caller, ip, response } = this.#request
    const incoming = this.#receipt.capacity.receive({ teamId: caller?.teamId ?? null, ip })
    response.once('close', () => incoming.discard())
    return incoming
  }

  readonly #torn = (): void => {
    this.#giveUp(refuse('body_too_complex', { expected: CHUNK_REQUIREMENT }))
    void this.#leave()
  }

  /**
   * Stops reading. Discarding the rest must be cheap, and so must the client's next connection, which arrives as soon
   * as this one ends.
   */
  async #leave(): Promise<void> {
    const { socket } = this.#request.raw
    this.#left = true
    this.#payload.pause()
    socket.pause()
    await this.#receipt.capacity.budgets.hold()
    socket.destroy()
  }

  /**
   * Refuses the body, but keeps reading for a while, so that the client receives the response.
   * @param linger how long to keep reading after the response (milliseconds)
   */
  #giveUp(error: Error, linger = LINGER): void {
    this.#unwatch()
    this.#payload.removeListener('data', this.#keep)
    this.#incoming?.discard()
    this.#first = null
    this.#receipt.reject(error)
    discardBody(this.#request, this.#payload, { ...this.#receipt, linger, left: () => this.#left })
  }
}

/** Options for reading the rest of a refused body. */
interface PassOver extends Pick<Reading, 'capacity' | 'clock'> {
  /** How long to keep reading after the response, in milliseconds. */
  linger?: number
  /** Reports whether to stop reading. */
  left?: () => boolean
}

/**
 * Reads and discards the rest of a body, so that the client receives the response. Reads slowly while many clients send
 * refused bodies.
 */
export function discardBody(
  { raw, response }: FastifyRequest,
  payload: Readable,
  { capacity, clock, linger = LINGER, left = () => false }: PassOver,
): void {
  payload.on('data', (chunk: Buffer) => {
    const wait = capacity.discards.take(chunk.length)
    if (!wait) return
    payload.pause()
    void wait.then(() => {
      if (!left()) payload.resume()
    })
  })
  payload.resume()
  // Disconnect clients that are still sending after the response.
  response.once('finish', () => {
    if (raw.complete) return
    if (linger === 0) return destroySoon(raw.socket)
    raw.once(
      'close',
      clock.after(linger, () => destroySoon(raw.socket)),
    )
  })
}
