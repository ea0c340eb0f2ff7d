/** Parses any message (MIME, RFC 2045 and 2046). Only this file and the sandbox use postal-mime's parser. */
import PostalMime, { type Email } from 'postal-mime'

export { decodeWords } from 'postal-mime'

/** Receives the lines of a part's body, without line ends, and builds the decoded body. */
interface Decoder {
  update(line: Uint8Array): void
  finalize(): Promise<ArrayBuffer>
}

/** Internals of the parser that this file relies on. */
interface Inside {
  currentNode: { contentDecoder: Decoder | null }
  processLine(line: Uint8Array, last: boolean): Promise<void>
}

/**
 * Parses a message. Attachments are octets, and embedded messages are attachments. Rejects when parts are nested deeper
 * than any mail program does.
 */
export function parseMessage(message: Uint8Array): Promise<Email> {
  const parser = new PostalMime({ forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' })
  gatherLines(parser)
  const { buffer, byteOffset, byteLength } = message
  // Copy a view of a larger buffer: the parser would read all of it.
  const whole = buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength
  return parser.parse(whole ? buffer : new Uint8Array(message).buffer)
}

/**
 * Collects bodies without a transfer encoding in blocks. The parser itself keeps objects of about 500 octets per line:
 * 500,000 short lines exceeded a 256 MB heap, and 1.3 GB outside it.
 */
function gatherLines(parser: PostalMime): void {
  const inside = parser as unknown as Inside
  const processLine = inside.processLine.bind(parser)
  inside.processLine = (line, last) => {
    const { currentNode } = inside
    const decoder = currentNode.contentDecoder
    // The other two decoders keep the rest of the last line, or a write position.
    if (decoder && !(decoder instanceof Lines) && !('remainder' in decoder) && !('bufferPos' in decoder))
      currentNode.contentDecoder = new Lines()
    return processLine(line, last)
  }
}

const LF = 10
const FIRST_BLOCK = 1024
const MOST_BLOCK = 1024 * 1024

/** Joins lines unchanged, each with LF. */
class Lines implements Decoder {
  readonly #full: Buffer[] = []
  #block = Buffer.allocUnsafeSlow(FIRST_BLOCK)
  /** Octets in the current block, and in the full ones. */
  #used = 0
  #before = 0

  update(line: Uint8Array): void {
    const need = line.length + 1
    if (this.#used + need > this.#block.length) {
      this.#full.push(this.#block.subarray(0, this.#used))
      this.#before += this.#used
      this.#block = Buffer.allocUnsafeSlow(Math.max(need, Math.min(2 * this.#block.length, MOST_BLOCK)))
      this.#used = 0
    }
    this.#block.set(line, this.#used)
    this.#used += need
    this.#block[this.#used - 1] = LF
  }

  finalize(): Promise<ArrayBuffer> {
    const whole = new Uint8Array(this.#before + this.#used)
    let at = 0
    for (const block of [...this.#full, this.#block.subarray(0, this.#used)]) {
      whole.set(block, at)
      at += block.length
    }
    return Promise.resolve(whole.buffer)
  }
}
