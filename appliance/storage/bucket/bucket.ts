/** Storage for large messages in a bucket of an S3-compatible server, which several nodes share. */
import { randomUUID } from 'node:crypto'
import { isId } from '../../mail/ids.ts'
import { type BodyStoreStatus, type LargeMessageStore, MissingMessage } from '../bodies.ts'
import { StorageRefused } from '../engine/failures.ts'
import { BucketFailure } from './failures.ts'
import { type ObjectPage, readList } from './list.ts'
import { type BucketAccess, BucketClient, type BucketResponse, sha256 } from './requests.ts'

export interface BucketOptions extends BucketAccess {
  /** Beginning of all keys, empty or with a slash at the end. */
  prefix: string
  /** Maximum size of a message in a row, in bytes. Larger messages are stored here. */
  largestRow: number
  /**
   * ID of this data directory, which is stored with each object. The sweep removes only objects with this ID, because
   * another server, or a restored copy of this one, may use the same bucket.
   */
  writer: string
  /** Whether new messages are stored here, so that the start checks whether objects can be written. */
  isWritten: boolean
  /** Whether a daemon opens the storage. Commands neither check the bucket nor sweep it. */
  isServing: boolean
  /** Age from which an object without a row is removed, in milliseconds, for tests. */
  orphanMs?: number
  /** Called if the bucket can't be reached at the start. */
  onUnreachable?: ((error: Error) => void) | undefined
}

/**
 * Age from which an object without a row is removed, in milliseconds. Longer than for files: a restore of a database may
 * follow one to an earlier time, and an object that stays costs only space.
 */
const ORPHAN_MS = 7 * 24 * 60 * 60 * 1000
/** Number of objects per page of a list. */
const PAGE = 500
const ID_LENGTH = 36
/** Beginning of the names of objects that only check the bucket. */
const PROBE = 'probe-'

/** Fields that are stored with an object. */
const CHECKSUM = 'x-amz-meta-sha256'
const WRITER = 'x-amz-meta-writer'

/** Stores large messages as objects: `<prefix><xx>/<email id>`, where `xx` is the last two digits of the ID. */
export class MessageBucket implements LargeMessageStore {
  readonly largestRow: number
  readonly #client: BucketClient
  readonly #options: BucketOptions
  /** Whether the server refuses to overwrite on request (`If-None-Match`). Not all servers do. */
  #conditional = true

  constructor(options: BucketOptions) {
    this.#options = options
    this.#client = new BucketClient(options)
    this.largestRow = options.largestRow
  }

  /**
   * Checks the bucket. If it can't be reached, the daemon starts nevertheless, because mail in the database can be
   * delivered.
   * @throws StorageRefused if the bucket can't be used until the operator changes something
   */
  async begin(): Promise<void> {
    const { isServing, isWritten, onUnreachable } = this.#options
    if (!isServing) return
    try {
      if (isWritten) await this.probe()
      else await this.#list({})
    } catch (error) {
      if (!(error instanceof BucketFailure)) throw error
      if (error.setting !== null) throw new StorageRefused(`${error.setting}: ${error.message}`)
      onUnreachable?.(error)
    }
  }

  /** Lists the bucket, and writes, reads and deletes an object. @throws BucketFailure */
  async probe(): Promise<BodyStoreStatus> {
    const { bucket, endpoint } = this.#client.address
    const key = `${this.#options.prefix}${PROBE}${randomUUID()}`
    // First a request whose response says what is wrong. Responses to HEAD have no body.
    await this.#list({})
    const begun = performance.now()
    const bytes = Buffer.from('Posthaste checks whether it can write and read here.\n')
    await this.#write(key, bytes)
    try {
      const found = await this.#get(key)
      if (!found?.equals(bytes))
        throw new BucketFailure(
          `The bucket ${bucket} at ${endpoint} did not return what was written. Check s3.endpoint.`,
          'S3_CHECKSUM',
          'transient',
          's3.endpoint',
        )
    } finally {
      await this.#delete(key)
    }
    return { bucket, endpoint, respondedIn: Math.round(performance.now() - begun) }
  }

  /**
   * Resolves when the server has confirmed the object. The server compares the bytes with their checksum, which is part
   * of the signature.
   */
  async put(emailId: string, bytes: Uint8Array): Promise<void> {
    const key = this.#key(emailId)
    if (!(await this.#write(key, bytes))) throw new Error(`There is an object of email ${emailId} already.`)
  }

  async read(emailId: string): Promise<Uint8Array> {
    const key = this.#key(emailId)
    const bytes = await this.#get(key)
    if (bytes !== undefined) return bytes
    const { bucket, endpoint } = this.#client.address
    throw new MissingMessage(
      `The message of email ${emailId} should be the object ${key} in the bucket ${bucket} at ${endpoint}, but there is none. Restore the object from a backup.`,
    )
  }

  remove(emailId: string): Promise<void> {
    return this.#delete(this.#key(emailId))
  }

  /**
   * Removes objects of this data directory that no row refers to, and its probes. Their age is measured with the
   * server's clock. Removes nothing if no row refers to any object, because the database may be in the middle of a restore.
   */
  async sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number> {
    const { isServing, orphanMs = ORPHAN_MS } = this.#options
    if (!isServing) return 0
    const orphans: string[] = []
    let isKnown = false
    let next: string | undefined = ''
    while (next !== undefined && !stop()) {
      const page: ObjectPage = await this.#list(next === '' ? {} : { 'continuation-token': next })
      const old = page.objects.filter(({ modifiedAt }) => modifiedAt < page.now - orphanMs)
      const messages = old.flatMap(({ key }) => this.#emailOf(key) ?? [])
      const kept = new Set((await existing(messages)).map((id) => this.#key(id)))
      isKnown ||= kept.size > 0
      orphans.push(...old.flatMap(({ key }) => (kept.has(key) ? [] : [key])))
      next = page.next
    }
    return isKnown ? this.#removeOwn(orphans, stop) : 0
  }

  /** Removes those of the objects that were written from this data directory, and returns their number. */
  async #removeOwn(keys: readonly string[], stop: () => boolean): Promise<number> {
    let removed = 0
    for (const key of keys) {
      if (stop()) break
      if (!(await this.#isOurs(key))) continue
      await this.#delete(key)
      removed++
    }
    return removed
  }

  close(): void {
    this.#client.close()
  }

  /** Returns the key of an email's object. Throws for anything but an ID, because it becomes part of a URL. */
  #key(emailId: string): string {
    if (!isId(emailId)) throw new RangeError('The id of an email must be a UUID.')
    return `${this.#options.prefix}${emailId.slice(-2)}/${emailId}`
  }

  /** Returns the email of an object; undefined if the key isn't that of a message. */
  #emailOf(key: string): string | undefined {
    const id = key.slice(-ID_LENGTH)
    return isId(id) && key === this.#key(id) ? id : undefined
  }

  /** Whether an object is a message or a probe that was written from this data directory. */
  async #isOurs(key: string): Promise<boolean> {
    const isProbe = key.startsWith(`${this.#options.prefix}${PROBE}`)
    if (!isProbe && this.#emailOf(key) === undefined) return false
    const headers = await this.#head(key)
    return headers?.[WRITER] === this.#options.writer
  }

  /**
   * Writes an object, if there is none with this key.
   * @returns false if there is another one
   */
  async #write(key: string, bytes: Uint8Array): Promise<boolean> {
    const sum = await sha256(bytes)
    const fields = { 'content-type': 'message/rfc822', [CHECKSUM]: sum, [WRITER]: this.#options.writer }
    const put = { method: 'PUT', key, body: { bytes, sha256: sum } } as const
    if (this.#conditional) {
      const { status, attempt } = await this.#client.send({
        ...put,
        headers: { ...fields, 'if-none-match': '*' },
        expected: [412, 501],
      })
      // The response to an earlier attempt may have been lost.
      if (status === 412) return attempt > 1 && (await this.#head(key))?.[CHECKSUM] === sum
      if (status !== 501) return true
      this.#conditional = false
    }
    if ((await this.#head(key)) !== undefined) return false
    await this.#client.send({ ...put, headers: fields })
    return true
  }

  /** Returns the header of an object; undefined if there is none. */
  async #head(key: string): Promise<BucketResponse['headers'] | undefined> {
    const { status, headers } = await this.#client.send({ method: 'HEAD', key, expected: [404] })
    return status === 404 ? undefined : headers
  }

  /** Deletes an object, if there is one. */
  async #delete(key: string): Promise<void> {
    await this.#client.send({ method: 'DELETE', key, isMissingExpected: true })
  }

  async #list(query: Record<string, string>): Promise<ObjectPage> {
    const { prefix } = this.#options
    const listed = { 'list-type': '2', 'max-keys': String(PAGE), prefix, ...query }
    return readList(await this.#client.send({ method: 'GET', key: '', query: listed }))
  }

  /**
   * Reads an object, and compares it with its checksum. Reads it once more if they differ.
   * @returns undefined if there is no such object
   */
  async #get(key: string): Promise<Buffer | undefined> {
    for (let attempt = 1; ; attempt++) {
      const { status, headers, body } = await this.#client.send({
        method: 'GET',
        key,
        isMissingExpected: true,
      })
      if (status === 404) return undefined
      const sum = headers[CHECKSUM]
      if (sum === undefined || sum === (await sha256(body))) return body
      const { bucket, endpoint } = this.#client.address
      if (attempt === 2)
        throw new BucketFailure(
          `The object ${key} in the bucket ${bucket} at ${endpoint} is damaged: its checksum is wrong. Restore the object from a backup.`,
          'S3_CHECKSUM',
          'damaged',
          null,
        )
    }
  }
}
