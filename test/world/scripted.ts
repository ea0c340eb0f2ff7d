import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TlsOptions, TLSSocket } from 'node:tls'
import { tlsOptions, type TlsMode } from './tls.ts'

/** A server that follows a script byte for byte, to send what a real mail server never would. */

/**
 * send: sends exactly these bytes · expect: the next line, without CRLF, must equal the string or match · expectBody:
 * reads up to CRLF.CRLF · startTls: continues inside TLS, with further options, or resets the connection if the
 * ClientHello is longer than `mostHello` bytes · wait: milliseconds · close: closes or resets the connection.
 * After the last step, the connection stays open and discards input until the client closes it.
 */
export type ScriptStep =
  | { send: string | Buffer }
  | { expect: string | RegExp }
  | { expectBody: true }
  | { startTls: Exclude<TlsMode, 'none'>; options?: TlsOptions; mostHello?: number }
  | { wait: number }
  | { close: 'end' | 'reset' }

/** The record of one connection. */
export interface ScriptedConnection {
  /** Everything the client sent, including inside TLS. */
  received: Buffer
  /** How the connection deviated from the script; null if it didn't. */
  mismatch: string | null
  /** Whether the script ran to its end. */
  complete: boolean
}

export interface ScriptedServer {
  readonly address: string
  readonly port: number
  /** In order of arrival. */
  readonly connections: readonly ScriptedConnection[]
  /** Destroys all connections, and continues to accept new ones. */
  cut(): void
  close(): Promise<void>
}

export interface ScriptedOptions {
  address: string
  /** 0 picks a free port. */
  port: number
  /** The script of each connection. A function receives the connection's number, from 1. */
  script: ScriptStep[] | ((connection: number) => ScriptStep[])
}

/** Starts a scripted server. Rejects with the system's error if the address or port is in use. */
export async function startScripted(options: ScriptedOptions): Promise<ScriptedServer> {
  const connections: ScriptedConnection[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const connection = { received: Buffer.alloc(0), mismatch: null, complete: false }
    connections.push(connection)
    const { script } = options
    const steps = typeof script === 'function' ? script(connections.length) : script
    void new Performance(socket, connection).play(steps)
  })
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(options.port, options.address)
  await once(server, 'listening')
  return {
    address: options.address,
    port: (server.address() as AddressInfo).port,
    connections,
    cut,
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/**
 * Parses a dialog into a script. Lines with `S: ` are sent. Lines with `C: ` are expected, and `*` matches anything.
 * `C: <body>` is a message with its final dot. `S: <close>` and `S: <reset>` end the connection.
 */
export function dialog(text: string): ScriptStep[] {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').map(readLine)
}

function readLine(line: string): ScriptStep {
  const [, side, said = ''] = /^([SC]): ?(.*)$/.exec(line) ?? []
  if (side === 'S') {
    if (said === '<close>') return { close: 'end' }
    if (said === '<reset>') return { close: 'reset' }
    return { send: `${said}\r\n` }
  }
  if (side !== 'C') throw new Error(`a line of a dialog begins with "S: " or "C: ": ${line}`)
  if (said === '<body>') return { expectBody: true }
  const pattern = said.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  return { expect: new RegExp(`^${pattern}$`) }
}

/** Runs a script on one connection. */
class Performance {
  #socket: Socket
  readonly #connection: ScriptedConnection
  #unread = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => undefined

  constructor(socket: Socket, connection: ScriptedConnection) {
    this.#socket = socket
    this.#connection = connection
    this.#listen(socket)
  }

  async play(steps: ScriptStep[]): Promise<void> {
    for (const step of steps) {
      const mismatch = await this.#perform(step)
      if (mismatch === null) continue
      this.#connection.mismatch = mismatch
      this.#socket.destroy()
      return
    }
    this.#connection.complete = true
  }

  async #perform(step: ScriptStep): Promise<string | null> {
    if ('send' in step) this.#socket.write(step.send)
    else if ('wait' in step) await sleep(step.wait, undefined, { ref: false })
    else if ('startTls' in step) this.#startTls(step)
    else if ('close' in step) this.#close(step.close)
    else if ('expectBody' in step)
      return (await this.#take('\r\n.\r\n')) === null ? 'no end of the body came' : null
    else {
      const line = await this.#take('\r\n')
      const { expect } = step
      const fits = line !== null && (typeof expect === 'string' ? line === expect : expect.test(line))
      if (!fits) return `expected ${String(expect)}, got ${line === null ? 'the end' : JSON.stringify(line)}`
    }
    return null
  }

  /** Reads up to `mark`. Returns null if the client ends the connection first. */
  async #take(mark: string): Promise<string | null> {
    for (;;) {
      const at = this.#unread.indexOf(mark)
      if (at !== -1) {
        const taken = this.#unread.subarray(0, at).toString('latin1')
        this.#unread = this.#unread.subarray(at + mark.length)
        return taken
      }
      if (this.#ended) return null
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  #startTls({ startTls, options, mostHello }: Extract<ScriptStep, { startTls: unknown }>): void {
    const plain = this.#socket
    plain.removeAllListeners('data')
    const secure = (): void => {
      this.#socket = new TLSSocket(plain, { isServer: true, ...tlsOptions(startTls), ...options })
      this.#listen(this.#socket)
    }
    if (mostHello === undefined) return secure()
    plain.once('data', (hello: Buffer) => {
      // The length of the first record follows its type and version (RFC 8446 §5.1).
      if (hello.readUInt16BE(3) > mostHello) plain.resetAndDestroy()
      else {
        plain.pause()
        plain.unshift(hello)
        secure()
      }
    })
  }

  #close(how: 'end' | 'reset'): void {
    if (how === 'end') this.#socket.end()
    else this.#socket.resetAndDestroy()
  }

  #listen(socket: Socket): void {
    const end = () => {
      this.#ended = true
      this.#wake()
    }
    socket.on('data', (chunk: Buffer) => {
      this.#connection.received = Buffer.concat([this.#connection.received, chunk])
      this.#unread = Buffer.concat([this.#unread, chunk])
      this.#wake()
    })
    // A client may reset the connection. The script then sees the end of input.
    socket.on('error', end).on('end', end).on('close', end)
  }
}
