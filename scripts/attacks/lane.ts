/** A sequence of a fuzzer's connections: sends batches and counts the replies. */
import { connect, type Socket } from 'node:net'

/**
 * How long to wait for a reply, in milliseconds: to well-formed input, and to damaged input, which may get no reply.
 */
const PATIENCE = 60_000
const DAMAGED_PATIENCE = 300

/** How a batch ended: all replies arrived, the daemon closed the connection, or no further replies arrived. */
export type BatchResult = 'all' | 'closed' | 'silent'

export class FuzzConnection {
  readonly #host: string
  readonly #port: () => number
  readonly #address: () => string
  /** Matches replies; must have the global flag. */
  readonly #reply: RegExp
  #socket: Socket | null = null
  #tail = ''
  #replies = 0
  #expected = 0
  #wake: () => void = () => undefined
  /** Number of replies by their first digit. */
  readonly counts = new Map<string, number>()

  constructor(how: { host: string; port: () => number; address: () => string; reply: RegExp }) {
    this.#host = how.host
    this.#port = how.port
    this.#address = how.address
    this.#reply = how.reply
  }

  /** Whether a connection is open. */
  get open(): boolean {
    return this.#socket !== null
  }

  /** Number of missing replies to the last batch. */
  get missing(): number {
    return this.#expected - this.#replies
  }

  /**
   * Sends a batch and waits for the given number of replies.
   * @param tidy whether everything is well-formed, so that all replies must arrive
   */
  async say(octets: Buffer, replies: number, tidy: boolean): Promise<BatchResult> {
    if (!this.#socket && !(await this.#connect())) return 'closed'
    this.#expected = this.#replies + replies
    this.#socket!.write(octets)
    const end = performance.now() + PATIENCE
    while (this.#socket && this.missing > 0) {
      const before = this.#replies
      await this.#news(tidy ? end - performance.now() : DAMAGED_PATIENCE)
      if (this.#socket && this.#replies === before && (!tidy || performance.now() >= end)) {
        this.close()
        return 'silent'
      }
    }
    return this.missing <= 0 ? 'all' : 'closed'
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
  }

  async #connect(): Promise<boolean> {
    const socket = connect({
      host: this.#host,
      port: this.#port(),
      localAddress: this.#address(),
      noDelay: true,
    })
    const over = (): void => {
      if (this.#socket === socket) this.#socket = null
      this.#wake()
    }
    socket.on('error', () => socket.destroy())
    socket.on('close', over)
    socket.on('end', over)
    await new Promise<void>((resolve) => {
      socket.once('connect', () => resolve()).once('close', () => resolve())
    })
    if (socket.destroyed) return false
    this.#socket = socket
    this.#tail = ''
    socket.on('data', (chunk: Buffer) => this.#read(chunk.toString('latin1')))
    return true
  }

  #read(chunk: string): void {
    const seen = this.#tail + chunk
    let end = 0
    for (const found of seen.matchAll(this.#reply)) {
      this.#replies++
      const kind = found[1]!
      this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
      end = found.index + found[0].length
    }
    this.#tail = seen.slice(Math.max(end, seen.length - 16))
    this.#wake()
  }

  async #news(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, ms))
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
