/** Receives forms with a file (RFC 7578). The file is written to disk as it arrives; all other fields are small. */
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { MAX_UPLOAD_SIZE, type Upload } from '../audience/audience.ts'
import type { Capacity } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import { refuse } from '../mail/refusals.ts'
import { discardBody } from './body.ts'
import type { App } from './deps.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The file of a form; undefined when there is none. */
    upload: { file: Upload; name: string } | undefined
  }
}

/** Maximum size of a form without its file, and of one field, in octets. */
const MAX_BESIDE = 1024 * 1024
const MAX_FIELD = 64 * 1024
/** `headers` isn't limited, because each part of a form may have several. */
const LIMITS = { files: 1, fields: 10, parts: 11, fieldNameSize: 100, fieldSize: MAX_FIELD, headerPairs: 20 }

interface UploadDeps {
  capacity: Capacity
  clock: Clock
  receive: () => Promise<Upload>
}

/**
 * Receives forms with a file named `file`: the body has the other fields as text, and `request.upload` the file. The
 * file is removed after the request unless the handler kept it.
 */
export function registerFormParser(app: App, deps: UploadDeps): void {
  app.decorateRequest('upload', undefined)
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: Readable) => {
    const form = new Form(request, payload, deps)
    try {
      return await form.read()
    } catch (error) {
      form.stop()
      throw error
    }
  })
}

/** A form being received. */
class Form {
  size = 0
  readonly #request: FastifyRequest
  readonly #payload: Readable
  readonly #deps: UploadDeps
  readonly #fields: Record<string, string> = {}
  readonly #failed = Promise.withResolvers<never>()
  readonly #count = (chunk: Buffer): void => {
    this.size += chunk.length
    if (this.size > MAX_UPLOAD_SIZE + MAX_BESIDE)
      this.#failed.reject(refuse('body_too_large', { limit: MAX_UPLOAD_SIZE }))
  }
  #unpipe = (): void => undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(request: FastifyRequest, payload: Readable, deps: UploadDeps) {
    this.#request = request
    this.#payload = payload
    this.#deps = deps
  }

  tooSlow(): void {
    this.#failed.reject(refuse('body_too_slow'))
  }

  /**
   * Reads the form and returns its text fields. Refuses: `body_too_large`, `body_too_slow`, `share_used`, `disk_full`,
   * `import_form`, `malformed_request`.
   */
  async read(): Promise<Record<string, string>> {
    const length = Number(this.#request.raw.headers['content-length'] ?? 0)
    if (length > MAX_UPLOAD_SIZE + MAX_BESIDE) throw refuse('body_too_large', { limit: MAX_UPLOAD_SIZE })
    const unwatch = this.#deps.capacity.pace.watch(this)
    try {
      const parser = this.#parser()
      const parsed = new Promise<void>((resolve) => void parser.once('finish', resolve))
      this.#payload.on('data', this.#count)
      const broken = (): void => this.#failed.reject(refuse('malformed_request'))
      this.#payload.once('error', broken).once('close', () => {
        if (!this.#payload.readableEnded) broken()
      })
      this.#payload.pipe(parser)
      this.#unpipe = () => this.#payload.unpipe(parser)
      await Promise.race([parsed, this.#failed.promise])
      await Promise.race([this.#writing, this.#failed.promise])
      return this.#fields
    } finally {
      unwatch()
      this.#payload.removeListener('data', this.#count)
    }
  }

  /** Stops reading; the client receives the reason. */
  stop(): void {
    this.#unpipe()
    discardBody(this.#request, this.#payload, this.#deps)
  }

  #parser(): BusboyInstance {
    const wrong = (expected: string): void => this.#failed.reject(refuse('import_form', { expected }))
    const type = this.#request.raw.headers['content-type']!
    let parser: BusboyInstance
    try {
      parser = new Busboy({ headers: { 'content-type': type }, limits: LIMITS })
    } catch {
      throw refuse('import_form', { expected: 'a boundary in the content type' })
    }
    const tooMany = (): void => wrong('one file called `file`, and at most 10 fields')
    parser.on('filesLimit', tooMany).on('fieldsLimit', tooMany).on('partsLimit', tooMany)
    parser.on('error', () => wrong('parts that end with the boundary'))
    parser.on('field', (name, value, nameCut, valueCut) => {
      if (nameCut || valueCut) wrong(`fields of at most ${MAX_FIELD} bytes`)
      else this.#fields[name] = value
    })
    parser.on('file', (name, stream, fileName) => {
      if (name !== 'file') wrong('the file in a field called `file`')
      this.#writing = this.#write(stream, fileName || 'contacts.csv')
      this.#writing.catch((error: Error) => this.#failed.reject(error))
    })
    this.#failed.promise.catch(() => undefined) // The rejection is handled by the code that awaits it, if any.
    return parser
  }

  async #write(stream: Readable, name: string): Promise<void> {
    // Write errors are handled below; a stream without a listener would throw them.
    stream.on('error', () => this.#failed.reject(refuse('malformed_request')))
    const { capacity, receive } = this.#deps
    const { caller, ip, response } = this.#request
    const owner = { teamId: caller?.teamId ?? null, ip }
    const file = await receive()
    let taken = 0
    response.once('close', () => {
      capacity.disk.give(owner, taken)
      taken = 0
      void file.discard()
    })
    this.#request.upload = { file, name }
    this.#fields.file = name
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (response.closed) throw refuse('malformed_request')
      if (!capacity.disk.take(owner, chunk.length)) throw refuse('share_used')
      taken += chunk.length
      await file.write(chunk)
    }
  }
}
