/**
 * Building blocks of attacks: connections from the attacker's addresses that break rules, repeatedly until the time is
 * over.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Assignment } from './attacker.ts'
import { RECIPIENT_DOMAIN, type Target, type Team } from './target.ts'

/** Pause after a refused or broken connection, in milliseconds. */
const REST = 20
/** Number of bytes per write of a flood. */
const BLOCK = 64 * 1024

export interface OpenOptions {
  tls?: boolean
  /** Index of the attacker's address; the first by default. */
  address?: number
  /** Whether to never read the data that the daemon sends. */
  deaf?: boolean
}

/** An attacker's connection. On a broken connection, its methods do nothing. */
export class AttackConnection {
  heard = ''
  readonly socket: Socket
  #wake: () => void = () => undefined

  constructor(socket: Socket, deaf: boolean) {
    this.socket = socket
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#wake())
    if (!deaf) this.listen()
  }

  get open(): boolean {
    return !this.socket.destroyed && this.socket.writable
  }

  /** Starts reading. Keeps only the last 4 KB. */
  listen(): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.heard = (this.heard + chunk.toString('latin1')).slice(-4096)
      this.#wake()
    })
    this.socket.on('end', () => {
      this.socket.destroy()
      this.#wake()
    })
  }

  /** Writes, and waits until the data is flushed. */
  async say(what: string | Buffer): Promise<void> {
    if (!this.open) return
    const { socket } = this
    const room = typeof what === 'string' ? socket.write(what, 'latin1') : socket.write(what)
    if (room) return
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off('drain', go).off('close', go)
        resolve()
      }
      socket.on('drain', go).on('close', go)
    })
  }

  /** Writes `piece` a number of times. */
  async repeat(piece: string, times: number): Promise<void> {
    const block = Buffer.from(piece.repeat(Math.max(1, Math.ceil(BLOCK / piece.length))), 'latin1')
    for (let left = piece.length * times; left > 0 && this.open;) {
      const some = block.subarray(0, Math.min(left, block.length))
      left -= some.length
      await this.say(some)
    }
  }

  /**
   * Waits until the pattern is received, the connection ends, or `ms` milliseconds pass. Discards input up to the
   * match.
   */
  async hear(pattern: RegExp, ms = 20_000): Promise<boolean> {
    const end = performance.now() + ms
    for (;;) {
      const found = pattern.exec(this.heard)
      if (found) {
        this.heard = this.heard.slice(found.index + found[0].length)
        return true
      }
      const left = end - performance.now()
      if (!this.open || left <= 0) return false
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  close(): void {
    this.socket.destroy()
  }
}

export class HostileClient {
  readonly target: Target
  readonly team: Team
  readonly number: 0 | 1
  readonly #until: number
  readonly #sockets = new Set<Socket>()

  constructor({ target, number, seconds }: Assignment) {
    this.target = target
    this.number = number
    this.team = target.attackers[number]
    this.#until = performance.now() + seconds * 1000
    setTimeout(() => this.end(), seconds * 1000)
  }

  get over(): boolean {
    return performance.now() >= this.#until
  }

  /** Time that is left, in milliseconds. */
  get left(): number {
    return Math.max(0, this.#until - performance.now())
  }

  /** Closes all connections. */
  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Returns one of the attacker's addresses. */
  address(n = 0): string {
    return `127.0.${2 + this.number}.${1 + (n % 250)}`
  }

  /** Connects. After a failure, pauses and returns null. */
  async open(port: number, options: OpenOptions = {}): Promise<AttackConnection | null> {
    const { tls = false, address = 0, deaf = false } = options
    const plain = connect({
      host: this.target.host,
      port,
      localAddress: this.address(address),
      allowHalfOpen: true,
      noDelay: true,
    })
    this.#hold(plain)
    if (!(await settles(plain, 'connect'))) return this.#rest()
    if (!tls) return new AttackConnection(plain, deaf)
    const secure = this.secure(plain)
    if (!(await settles(secure, 'secureConnect'))) return this.#rest()
    return new AttackConnection(secure, deaf)
  }

  /** Starts TLS on a connection. */
  secure(plain: Socket): TLSSocket {
    const secure = connectTls({ socket: plain, rejectUnauthorized: false, maxVersion: 'TLSv1.2' })
    this.#hold(secure)
    return secure
  }

  /**
   * Runs `count` copies of an action in parallel, each in a loop until the time is over. Then closes all connections,
   * which ends everything that waits for one.
   */
  async swarm(count: number, once: (n: number) => Promise<void>): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        while (!this.over) {
          await once(n)
          await pause(Math.min(REST, this.left))
        }
      }),
    )
  }

  /** Keeps a connection open until it breaks or the time is over. */
  async hold(wire: AttackConnection): Promise<void> {
    if (!wire.socket.destroyed)
      await new Promise<void>((resolve) => void wire.socket.once('close', () => resolve()))
  }

  /** Opens an SMTP connection and signs in as the attacker. */
  async signedIn(address = 0): Promise<AttackConnection | null> {
    const wire = await this.open(this.target.implicit, { tls: true, address })
    if (!wire) return null
    const plain = Buffer.from(`\0posthaste\0${this.team.key}`).toString('base64')
    const dialog: [string, RegExp][] = [
      ['', /^220 .*\r\n/],
      ['EHLO attacker.example', /^250 .*\r\n/m],
      [`AUTH PLAIN ${plain}`, /^235 .*\r\n/m],
    ]
    for (const [said, expected] of dialog) {
      if (said !== '') await wire.say(`${said}\r\n`)
      if (await wire.hear(expected)) continue
      wire.close()
      return this.#rest()
    }
    return wire
  }

  /** Sends the envelope of a message, and DATA unless `data` is false. */
  async begin(wire: AttackConnection, data = true): Promise<boolean> {
    await wire.say(`MAIL FROM:<app@${this.team.domain}>\r\n`)
    if (!(await wire.hear(/^250 .*\r\n/m))) return false
    await wire.say(`RCPT TO:<ada@${RECIPIENT_DOMAIN}>\r\n`)
    if (!(await wire.hear(/^250 .*\r\n/m))) return false
    if (!data) return true
    await wire.say('DATA\r\n')
    return wire.hear(/^354 .*\r\n/m)
  }

  async #rest(): Promise<null> {
    await pause(Math.min(10 * REST, this.left))
    return null
  }

  #hold(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

/** Whether the event occurs before the connection ends. */
function settles(socket: Socket, event: 'connect' | 'secureConnect'): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once(event, () => resolve(true)).once('close', () => resolve(false))
  })
}
