/** Parses the first message of TLS without responding, to see what a client offers. */

/** Maximum size of a ClientHello in octets: one record. */
export const MAX_HELLO = 16_384 + 5

/** Reads length-prefixed fields; throws `RangeError` at the end of the data. */
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
  /** Reads a field that is preceded by its length in `octets` octets. */
  field(octets: number): Buffer {
    return this.take(this.number(octets))
  }
}

const ALPN = 16

/** Returns the names in the ALPN extension (RFC 8446 §4.1.2, RFC 7301 §3.1). */
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
 * Returns the protocols that a client offers (ALPN), from the first octets of its connection. Pure.
 * @returns undefined while the message is incomplete; empty if it isn't a ClientHello or offers no protocols. A
 * ClientHello that is split over several TLS records counts as offering none.
 */
export function parseOfferedProtocols(bytes: Buffer): string[] | undefined {
  if (bytes.length === 0) return undefined
  if (bytes[0] !== 22) return [] // RFC 8446 §5.1: 22 is a handshake
  if (bytes.length < 5) return undefined
  const length = bytes.readUInt16BE(3)
  if (length > MAX_HELLO - 5) return []
  if (bytes.length < 5 + length) return undefined
  try {
    return protocolsOf(bytes.subarray(5, 5 + length))
  } catch (error) {
    // The message is malformed, so the TLS stack responds with an alert.
    if (error instanceof RangeError) return []
    throw error
  }
}
