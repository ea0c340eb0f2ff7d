/**
 * The format of a backup: a tar archive, optionally encrypted in the age format (https://age-encryption.org/v1). The
 * programs `tar` and `age` can open it, too.
 */
import type { Decrypter } from 'age-encryption'
import { open } from 'node:fs/promises'
import { ReadableStream } from 'node:stream/web'
import { StorageRefused } from '../engine/failures.ts'

/** How a backup is encrypted: for recipients (`age1…`), whose identities can decrypt it, or with a passphrase. */
export type Encryption = { recipients: string[] } | { passphrase: string }

/** The keys to an encrypted backup: identities (`AGE-SECRET-KEY-1…`) or a passphrase. */
export type Decryption = { identities: string[] } | { passphrase: string }

/** A step of a stream pipeline. */
export type PipelineStep = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

/** Loaded only for backups, so that the daemon doesn't load 300 kB of cryptography. */
const age = () => import('age-encryption')

const MARK = 'age-encryption.org/v1\n'

/** Whether a file begins with the age header. */
export async function isEncrypted(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MARK.length), 0, MARK.length, 0)
    return bytesRead === MARK.length && buffer.toString('latin1') === MARK
  } finally {
    await file.close()
  }
}

/**
 * Creates the step that encrypts, and a step that decrypts its output to verify it. The latter doesn't need the
 * identity, which is kept elsewhere.
 * @throws StorageRefused if a recipient is invalid
 */
export async function createEncryption(
  how: Encryption,
): Promise<{ encrypt: PipelineStep; check: PipelineStep }> {
  const { Decrypter, Encrypter } = await age()
  const encrypter = new Encrypter()
  if ('passphrase' in how) {
    encrypter.setPassphrase(how.passphrase)
    const decrypter = new Decrypter()
    decrypter.addPassphrase(how.passphrase)
    return { encrypt: stepOf(encrypter.encrypt.bind(encrypter)), check: decrypting(decrypter) }
  }
  for (const recipient of how.recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      throw new StorageRefused(
        `${recipient} is not an age recipient. Expected a public key from age-keygen, such as age1….`,
      )
    }
  }
  let fileKey = new Uint8Array()
  // This recipient adds nothing to the file. It is used only to get the file key.
  encrypter.addRecipient({
    wrapFileKey: (key) => {
      fileKey = key.slice()
      return []
    },
  })
  const decrypter = new Decrypter()
  decrypter.addIdentity({ unwrapFileKey: () => fileKey })
  return { encrypt: stepOf(encrypter.encrypt.bind(encrypter)), check: decrypting(decrypter) }
}

/**
 * Creates the step that decrypts.
 * @throws StorageRefused if an identity is invalid
 */
export async function createDecryption(how: Decryption): Promise<PipelineStep> {
  const { Decrypter } = await age()
  const decrypter = new Decrypter()
  if ('passphrase' in how) decrypter.addPassphrase(how.passphrase)
  else
    for (const identity of how.identities) {
      try {
        decrypter.addIdentity(identity)
      } catch {
        throw new StorageRefused(
          'The identity file contains an invalid line. Expected AGE-SECRET-KEY-1…, as written by age-keygen.',
        )
      }
    }
  return decrypting(decrypter)
}

function decrypting(decrypter: Decrypter): PipelineStep {
  return stepOf(async (stream) => {
    try {
      return await decrypter.decrypt(stream)
    } catch (error) {
      if (!(error as Error).message.includes('no identity matched')) throw error
      throw new StorageRefused(
        'The backup cannot be decrypted: it was encrypted for another identity, or with another passphrase.',
      )
    }
  })
}

type Web = globalThis.ReadableStream<Uint8Array>

function stepOf(transform: (stream: Web) => Promise<Web>): PipelineStep {
  return async function* (chunks) {
    const stream = await transform(ReadableStream.from(chunks))
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>)
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
  }
}

/**
 * Archives in the ustar format of POSIX.1-2001 (pax, "ustar Interchange Format"), so that any tar can unpack a backup.
 * Regular files only. Sizes of 8 GiB and more are base-256 numbers, as in GNU tar and libarchive.
 */
const BLOCK = 512

/** The largest size that fits into eleven octal digits. */
const LARGEST_OCTAL = 0o77777777777

/** A file of an archive. Its size must be known before its bytes are written. */
export interface TarFile {
  name: string
  size: number
}

/**
 * Formats the block before a file's bytes. `at` is in Unix milliseconds. Throws `RangeError` for names longer than 100
 * bytes.
 */
export function tarHeader({ name, size }: TarFile, at: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name} is too long a name for the archive.`)
  header.write(name, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (size <= LARGEST_OCTAL) header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(size), 128)
  }
  header.write(
    `${Math.floor(at / 1000)
      .toString(8)
      .padStart(11, '0')}\0`,
    136,
  )
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** Returns the zeros that pad a file's last block. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** Returns the two empty blocks that end an archive. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * BLOCK)

/** A part of an archive as `readTar` yields it: the start of a file, or a chunk of its bytes. */
export type TarPart = { kind: 'file'; file: TarFile } | { kind: 'bytes'; bytes: Buffer }

/**
 * Reads an archive as a stream. Throws an `Error` if it isn't an archive, ends too early, or contains anything but
 * regular files. Backups have no links or devices.
 */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarPart> {
  let buffered: Buffer = Buffer.alloc(0)
  // For the current file: number of remaining bytes, and of the bytes that pad its last block.
  let left = 0
  let padding = 0
  let ended = false
  for await (const chunk of chunks) {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    for (;;) {
      if (left > 0) {
        const bytes = buffered.subarray(0, left)
        if (bytes.length === 0) break
        yield { kind: 'bytes', bytes }
        left -= bytes.length
        buffered = buffered.subarray(bytes.length)
        continue
      }
      if (buffered.length < padding + BLOCK) break
      const header = buffered.subarray(padding, padding + BLOCK)
      buffered = buffered.subarray(padding + BLOCK)
      padding = 0
      if (ended || header.every((byte) => byte === 0)) {
        ended = true
        continue
      }
      const file = readHeader(header)
      left = file.size
      padding = tarPadding(file.size).length
      yield { kind: 'file', file }
    }
  }
  if (!ended) throw new Error('the archive ends too early')
}

function readHeader(header: Buffer): TarFile {
  if (header.toString('latin1', 257, 262) !== 'ustar' || octal(header, 148, 8) !== checksum(header))
    throw new Error('it is no tar archive, or damaged')
  const name = text(header, 0, 100)
  const type = header.toString('latin1', 156, 157)
  if (type !== '0' && type !== '\0') throw new Error(`${name} is no plain file`)
  const size = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : octal(header, 124, 12)
  if (!Number.isSafeInteger(size)) throw new Error(`the size of ${name} is no number`)
  return { name, size }
}

function text(header: Buffer, from: number, length: number): string {
  const field = header.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

const octal = (header: Buffer, from: number, length: number): number =>
  Number.parseInt(text(header, from, length).trim(), 8)

/** Returns the sum of the header's bytes, in which the eight bytes of the checksum field count as spaces. */
function checksum(header: Buffer): number {
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += header[at]!
  return sum
}
