/** Reads messages of any make (MIME, RFC 2045 and 2046). The only file of the daemon's own path that knows postal-mime's parser. */
import PostalMime, { type Email } from 'postal-mime'

export { decodeWords } from 'postal-mime'

/** What takes the lines of a part's body, without their ends, and makes the decoded body of them. */
interface Decoder {
  update(line: Uint8Array): void
  finalize(): Promise<ArrayBuffer>
}

/** What we know of the parser beside its interface. */
interface Inside {
  currentNode: { contentDecoder: Decoder | null }
  processLine(line: Uint8Array, last: boolean): Promise<void>
}

/** Reads a message; attachments are octets, and messages within it are attachments. Rejects for nesting that no mail program makes. */
export function parseMessage(message: Uint8Array): Promise<Email> {
  const parser = new PostalMime({ forceRfc822Attachments: true, attachmentEncoding: 'arraybuffer' })
  gatherLines(parser)
  const { buffer, byteOffset, byteLength } = message
  // A copy where the view is part of a larger buffer: the parser takes the whole of it otherwise.
  const whole = buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength
  return parser.parse(whole ? buffer : new Uint8Array(message).buffer)
}

/**
 * Has bodies without an encoding gathered in blocks. The parser's own way keeps objects for each line, which take some 500 octets and end the
 * thread: 500,000 lines of two letters were too much for 256 MB, and what was beside the heap took 1.3 GB.
 */
function gatherLines(parser: PostalMime): void {
  const inside = parser as unknown as Inside
  const processLine = inside.processLine.bind(parser)
  inside.processLine = (line, last) => {
    const { currentNode } = inside
    const decoder = currentNode.contentDecoder
    // The other two know what is left of the last line, or where they write next.
    if (decoder && !(decoder instanceof Lines) && !('remainder' in decoder) && !('bufferPos' in decoder))
      currentNode.contentDecoder = new Lines()
    return processLine(line, last)
  }
}

const LF = 10
const FIRST_BLOCK = 1024
const MOST_BLOCK = 1024 * 1024

/** Lines as they are, each ended by LF. */
class Lines implements Decoder {
  readonly #full: Buffer[] = []
  #block = Buffer.allocUnsafeSlow(FIRST_BLOCK)
  /** Octets in the block, and in those that are full. */
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
