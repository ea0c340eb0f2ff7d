/** Backups encrypted in the age format (https://age-encryption.org/v1): the program `age` opens them, too. */
import { Decrypter, Encrypter } from 'age-encryption'
import { open } from 'node:fs/promises'
import { ReadableStream } from 'node:stream/web'
import { StorageRefused } from '../sqlite/failures.ts'

/** Who can decrypt a backup: the holders of the identities for these recipients (`age1…`), or anyone with the passphrase. */
export type Encryption = { recipients: string[] } | { passphrase: string }

/** What opens an encrypted backup: identities (`AGE-SECRET-KEY-1…`), or a passphrase. */
export type Decryption = { identities: string[] } | { passphrase: string }

/** A step of a pipeline of streams. */
export type Step = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

const MARK = 'age-encryption.org/v1\n'

/** Whether a file begins as every file in the age format does. */
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
 * Makes the step that encrypts, and the one that opens again what it encrypted: to check it without the identity, which is elsewhere.
 * @throws StorageRefused for what is no recipient
 */
export function createEncryption(how: Encryption): { encrypt: Step; check: Step } {
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
  // Adds nothing to the file: it only learns what the file is encrypted with.
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
 * Makes the step that decrypts.
 * @throws StorageRefused for what is no identity
 */
export function createDecryption(how: Decryption): Step {
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

function decrypting(decrypter: Decrypter): Step {
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

function stepOf(transform: (stream: Web) => Promise<Web>): Step {
  return async function* (chunks) {
    const stream = await transform(ReadableStream.from(chunks))
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>)
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
  }
}
