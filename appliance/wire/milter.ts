/**
 * Packets of the milter protocol, version 6, as Sendmail's libmilter and Postfix speak it: a length of four octets, a
 * letter, and data. Constants as in libmilter's `mfdef.h` and `mfapi.h`.
 */
import { once } from 'node:events'
import { connect, type NetConnectOpts, type Socket } from 'node:net'

const VERSION = 6

/** Actions that a filter may request for a message. Bodies, recipients and the sender can't be changed. */
const ACTIONS = { addHeaders: 0x01, changeHeaders: 0x10, quarantine: 0x20 } as const

/** Flags of the protocol's steps: `no` if the filter doesn't want a step, `quiet` if it doesn't reply to it. */
export const STEPS = {
  connect: { no: 0x01, quiet: 0x1000 },
  helo: { no: 0x02, quiet: 0x2000 },
  mail: { no: 0x04, quiet: 0x4000 },
  recipient: { no: 0x08, quiet: 0x8000 },
  body: { no: 0x10, quiet: 0x80000 },
  header: { no: 0x20, quiet: 0x80 },
  endOfHeader: { no: 0x40, quiet: 0x40000 },
  data: { no: 0x200, quiet: 0x10000 },
} as const
export type Step = keyof typeof STEPS
/** Flag: the filter may ask to skip the rest of the body. */
const SKIP = 0x400
/** Flag: both sides send field values including the white space after the colon. */
const LEADING_SPACE = 0x100000
const OFFERED_STEPS = Object.values(STEPS).reduce(
  (all, { no, quiet }) => all | no | quiet,
  SKIP | LEADING_SPACE,
)

/** Maximum length of a packet that a filter may send. It leaves space for a header value of 64 KB. */
const MOST_BYTES = 128 * 1024

export interface Packet {
  letter: string
  data: Buffer
}

/** Encodes a text, terminated by a NUL. Removes NULs inside the text, which would end it early. */
export const encodeTerminatedText = (value: string, encoding: 'utf8' | 'latin1' = 'utf8'): Buffer =>
  Buffer.from(`${value.replaceAll('\0', '')}\0`, encoding)
/** Encodes a number as four octets. */
const number = (value: number): Buffer => {
  const encoded = Buffer.alloc(4)
  encoded.writeUInt32BE(value)
  return encoded
}
/** Splits data into its NUL-terminated texts. */
export const decodeTexts = (data: Buffer): string[] => data.toString('utf8').replace(/\0$/, '').split('\0')

/** A connection to a filter. */
export class MilterConnection {
  readonly #socket: Socket
  readonly #chunks: AsyncIterator<Buffer>
  #buffered = Buffer.alloc(0)
  /** The steps that the filter doesn't want, or doesn't reply to. */
  steps = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  }

  /** Connects and negotiates the protocol; see `openMilter`. */
  static async open(target: NetConnectOpts, signal: AbortSignal): Promise<MilterConnection> {
    const socket = connect(target)
    // Errors are reported to the code that waits for the connection or a packet.
    socket.on('error', () => undefined)
    const abort = (): void => void socket.destroy(signal.reason as Error)
    signal.addEventListener('abort', abort)
    socket.once('close', () => signal.removeEventListener('abort', abort))
    await once(socket, 'connect', { signal })
    socket.setNoDelay(true)
    const connection = new MilterConnection(socket)
    try {
      await connection.#negotiate()
    } catch (error) {
      socket.destroy()
      throw error
    }
    return connection
  }

  /** Whether field values include the white space after the colon. Otherwise, one space is implied. */
  get hasSpace(): boolean {
    return (this.steps & LEADING_SPACE) !== 0
  }

  async #negotiate(): Promise<void> {
    const offered = Object.values(ACTIONS).reduce<number>((all, one) => all | one, 0)
    this.send('O', number(VERSION), number(offered), number(OFFERED_STEPS))
    const { letter, data } = await this.receive()
    if (letter !== 'O' || data.length < 12) throw new Error('the answer is not that of a milter')
    const [version, actions, steps] = [data.readUInt32BE(0), data.readUInt32BE(4), data.readUInt32BE(8)]
    if (version < 2 || version > VERSION) throw new Error(`milter protocol ${version} is not supported`)
    if ((actions & ~offered) !== 0 || (steps & ~OFFERED_STEPS) !== 0)
      throw new Error('the milter needs changes of a message that are not supported')
    this.steps = steps
  }

  send(letter: string, ...parts: readonly Uint8Array[]): void {
    const length = parts.reduce((sum, part) => sum + part.length, 1)
    this.#socket.write(Buffer.concat([number(length), Buffer.from(letter), ...parts]))
  }

  /** Returns the next packet. Throws if the connection ends before it is complete. */
  async receive(): Promise<Packet> {
    await this.#fill(4)
    const length = this.#buffered.readUInt32BE()
    if (length < 1 || length > MOST_BYTES) throw new Error(`a packet of ${length} bytes`)
    await this.#fill(4 + length)
    const letter = this.#buffered.toString('latin1', 4, 5)
    const data = Buffer.from(this.#buffered.subarray(5, 4 + length))
    this.#buffered = this.#buffered.subarray(4 + length)
    return { letter, data }
  }

  /** Ends the session, and closes the connection once the command is sent. */
  close(): void {
    this.send('Q')
    this.#socket.destroySoon()
  }

  /** Closes the connection immediately. */
  destroy(): void {
    this.#socket.destroy()
  }

  async #fill(size: number): Promise<void> {
    while (this.#buffered.length < size) {
      const next = await this.#chunks.next()
      if (next.done === true) throw new Error('the filter closed the connection')
      this.#buffered = Buffer.concat([this.#buffered, next.value])
    }
  }
}

/**
 * Opens a session with a filter.
 * @param milter `host:port`, or `unix:` with the path of a socket
 * @param signal closes the connection immediately
 * @throws if the filter can't be reached, isn't a milter, or requires changes of messages that aren't offered
 */
export const openMilter = (milter: string, signal: AbortSignal): Promise<MilterConnection> =>
  MilterConnection.open(targetOf(milter), signal)

function targetOf(milter: string): NetConnectOpts {
  if (milter.startsWith('unix:')) return { path: milter.slice('unix:'.length) }
  const colon = milter.lastIndexOf(':')
  const host = milter.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(milter.slice(colon + 1)) }
}
