/** The first message of TLS, read without answering it: what a client offers before anybody chose. */

/** A ClientHello that fits no record is none that we want to read. */
export const MAX_HELLO = 16_384 + 5

/** A reader of length-prefixed fields; throws `RangeError` where the bytes end. */
class Fields {
  readonly #bytes: Buffer
  #at = 0
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  get done(): boolean {
    return this.#at >= this.#bytes.length
  }
  number(octets: number): number {
    const value = this.#bytes.readUIntBE(this.#at, octets)
    this.#at += octets
    return value
  }
  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the message ends too early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
  /** A field with its length before it, in so many octets. */
  field(octets: number): Buffer {
    return this.take(this.number(octets))
  }
}

const ALPN = 16

/** RFC 8446 §4.1.2 and RFC 7301 §3.1: the names in the ALPN extension. */
function protocolsOf(hello: Buffer): string[] {
  const fields = new Fields(hello)
  if (fields.number(1) !== 1) return [] // not a ClientHello
  const body = new Fields(fields.field(3))
  body.take(2 + 32) // version and random
  body.field(1) // session
  body.field(2) // cipher suites
  body.field(1) // compression
  if (body.done) return []
  const extensions = new Fields(body.field(2))
  while (!extensions.done) {
    const type = extensions.number(2)
    const data = extensions.field(2)
    if (type !== ALPN) continue
    const list = new Fields(new Fields(data).field(2))
    const names: string[] = []
    while (!list.done) names.push(list.field(1).toString('latin1'))
    return names
  }
  return []
}

/**
 * The protocols that a client offers (ALPN), from the first bytes of its connection. Pure.
 * @returns undefined while the message is not complete; empty when it is no ClientHello or offers none. A hello that
 * is split over several TLS records counts as offering none.
 */
export function offeredProtocols(bytes: Buffer): string[] | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] !== 22) return [] // RFC 8446 §5.1: 22 is a handshake
  if (bytes.length < 5) return undefined
  const length = bytes.readUInt16BE(3)
  if (length > MAX_HELLO - 5) return []
  if (bytes.length < 5 + length) return undefined
  try {
    return protocolsOf(bytes.subarray(5, 5 + length))
  } catch (error) {
    // Bytes that contradict themselves: the TLS stack answers them with its alert.
    if (error instanceof RangeError) return []
    throw error
  }
}
