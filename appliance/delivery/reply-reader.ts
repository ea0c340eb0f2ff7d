import { parseReply, type Reply } from '../mail/reply.ts'

/**
 * Limits of a reply. RFC 5321 §4.5.3.1.5 allows 512 octets per line; some providers send longer ones. Anything larger
 * doesn't come from a mail server.
 */
const LINE_BYTES = 4096
const LINES = 256
const REPLY_BYTES = 64 * 1024

/** Maximum unread replies: more than any pipelined envelope causes. */
const QUEUED = 2000

/** Splits a server's output into replies (RFC 5321 §4.2.1). */
export class ReplyReader {
  readonly #queue: Reply[] = []
  #rest: Buffer = Buffer.alloc(0)
  #lines: string[] = []
  #size = 0

  /** Number of complete unread replies. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Whether there is an incomplete reply. */
  get partial(): boolean {
    return this.#rest.length > 0 || this.#lines.length > 0
  }

  /** Returns the oldest complete reply. */
  take(): Reply | undefined {
    return this.#queue.shift()
  }

  /** Adds bytes; returns what is wrong with them, in words that complete "the server …", or undefined. */
  feed(chunk: Buffer): string | undefined {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
      const complaint = this.#line(bytes.subarray(0, end + 1))
      if (complaint) return complaint
      bytes = bytes.subarray(end + 1)
    }
    this.#rest = bytes
    return bytes.length > LINE_BYTES ? this.#tooLong() : undefined
  }

  #tooLong(): string {
    this.#rest = Buffer.alloc(0)
    return `sent a line of more than ${LINE_BYTES} bytes`
  }

  #line(bytes: Buffer): string | undefined {
    if (bytes.length > LINE_BYTES) return this.#tooLong()
    const text = decode(bytes).replace(/\r?\n$/, '')
    const code = /^[2-5]\d\d(?=[ -]|$)/.exec(text)?.[0]
    if (code === undefined)
      return `sent something that is not an SMTP reply: ${JSON.stringify(text.slice(0, 80))}`
    if (this.#lines.length > 0 && !this.#lines[0]!.startsWith(code)) {
      return `sent one reply with two codes, ${this.#lines[0]!.slice(0, 3)} and ${code}` // ambiguous
    }
    this.#lines.push(text)
    this.#size += bytes.length
    if (this.#lines.length > LINES || this.#size > REPLY_BYTES) return 'sent a reply that does not end'
    return text[3] === '-' ? undefined : this.#complete()
  }

  #complete(): string | undefined {
    const reply = parseReply(this.#lines.join('\n'))
    this.#lines = []
    this.#size = 0
    if (reply) this.#queue.push(reply)
    return this.#queue.length > QUEUED ? 'sent unexpected replies' : undefined
  }
}

/** Decodes a reply as UTF-8 (RFC 6531 §3.7.4), or else as latin1. */
function decode(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? bytes.toString('latin1') : text
}
