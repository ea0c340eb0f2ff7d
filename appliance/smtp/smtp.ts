/** The SMTP server (RFC 5321), with STARTTLS, with implicit TLS (RFC 8314), and for trusted networks. */
import { createServer, type Server, type Socket } from 'node:net'
import {
  createLoopLine,
  createLoopShare,
  HOLD_MS,
  type Connection as CountedConnection,
} from '../capacity/capacity.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'
import { bindServer, CannotStart, formatHostPort, type HostPort } from '../wire/listeners.ts'
import { inNetworks } from '../wire/networks.ts'
import { parseProxyHeader, plainAddress } from '../wire/proxy-protocol.ts'
import type { ListenerKind, Shared, SmtpServerDeps } from './deps.ts'
import { createGate } from './gate.ts'
import { GRACE_MS, LINGER_MS, MOST_AT_ONCE, MOST_HANDSHAKES, PROXY_MS } from './limits.ts'
import { refusalReply, writeReply } from './reply.ts'
import { gateOf, Session } from './session.ts'
import { SmtpSocket } from './socket.ts'
import { COMMANDS } from './commands.ts'

export type { SmtpConfig, SmtpServerDeps } from './deps.ts'
export type {
  Arriving,
  Client,
  MailHandler,
  MailCommand,
  Recipient,
  SubmissionHandler,
  Taken,
} from './handler.ts'

/** An address to listen on and its kind of listener. */
export interface ListenRequest {
  /** `host:port` */
  address: string
  kind: ListenerKind
  /**
   * Whether the address is a default that wasn't configured. If such an address can't be bound, the failure is logged
   * and the other addresses are still bound.
   */
  byDefault?: boolean
}

export interface SmtpServer {
  /**
   * Binds all addresses or none. Returns them in order as `host:port` with the actual ports, or null for a default
   * address that can't be bound. Rejects with a sentence that names the address, the setting and the remedy.
   */
  listen(requests: readonly ListenRequest[]): Promise<(string | null)[]>
  /** Reloads the certificate files; rejects with a sentence when they are invalid. */
  reloadTls(): Promise<void>
  /** Accepts no new connections, ends idle sessions, and lets messages in flight finish. */
  close(): Promise<void>
}

export function createSmtpServer(deps: SmtpServerDeps): SmtpServer {
  const { clock } = deps
  const shared: Shared = {
    ...deps,
    gates: { submission: createGate(clock), publicMx: createGate(clock) },
    share: createLoopShare(MOST_AT_ONCE),
    handshakes: createLoopLine(MOST_HANDSHAKES),
  }
  const servers: Server[] = []
  const open = new Set<Connection>()
  let closing = false

  const take = (socket: Socket, kind: ListenerKind, port: number): void => {
    const connection = new Connection(shared, socket, kind, port)
    open.add(connection)
    if (closing) connection.stop()
    void connection.run().finally(() => open.delete(connection))
  }

  return {
    async listen(requests) {
      const bound: (string | null)[] = []
      try {
        for (const { address, kind, byDefault = false } of requests) {
          let port = 0
          // Allow half-open connections: a client may close its side and still read the replies.
          const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
            take(socket, kind, port),
          )
          const at = await bindOr(byDefault ? deps.log : null, server, address, `smtp.${kind.name}`)
          if (at) servers.push(server)
          port = at?.port ?? 0
          bound.push(at && formatHostPort(at))
        }
      } catch (error) {
        for (const server of servers.splice(0)) server.close()
        throw error
      }
      return bound
    },
    reloadTls: () => deps.certificates.reload(),
    async close() {
      closing = true
      const closed = servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))
      for (const connection of open) connection.stop()
      const cut = clock.after(GRACE_MS, () => {
        for (const connection of open) connection.destroy()
      })
      await Promise.all([...closed, ...[...open].map(({ done }) => done)])
      cut()
    },
  }
}

/** Binds an address. With a log, logs a failure and returns null. */
async function bindOr(
  log: SmtpServerDeps['log'] | null,
  server: Server,
  address: string,
  setting: string,
): Promise<HostPort | null> {
  try {
    return await bindServer(server, address, setting)
  } catch (error) {
    if (!log || !(error instanceof CannotStart)) throw error
    log.error(`${error.message} Until then, this listener accepts no mail.`)
    return null
  }
}

/** A connection: finds the client's address, checks whether it may connect, then runs the session. */
class Connection {
  /** Resolves when the connection is closed. */
  readonly done: Promise<void>
  readonly #shared: Shared
  readonly #kind: ListenerKind
  readonly #port: number
  readonly #socket: SmtpSocket
  #finished: () => void = () => undefined
  #session: Session | null = null
  #counted: CountedConnection | null = null

  constructor(shared: Shared, socket: Socket, kind: ListenerKind, port: number) {
    this.#shared = shared
    this.#kind = kind
    this.#port = port
    this.#socket = new SmtpSocket(socket, shared.clock, shared.share)
    this.done = new Promise((resolve) => (this.#finished = resolve))
  }

  async run(): Promise<void> {
    try {
      const ip = await this.#source()
      if (ip !== null) await this.#admit(ip)
    } catch (error) {
      this.#shared.log.error({ err: error }, 'smtp connection failed: this is a bug')
    } finally {
      this.#socket.destroy()
      this.#counted?.leave()
      this.#finished()
    }
  }

  stop(): void {
    if (this.#session) this.#session.stop()
    // The client hasn't authenticated or finished its handshake, or is waiting to be refused.
    else this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Returns the client's address: the peer's, or the one in a PROXY header. Null to drop the connection. */
  async #source(): Promise<string | null> {
    const peer = plainAddress(this.#socket.remoteAddress)
    if (peer === '' || !inNetworks(peer, this.#shared.config.proxyProtocolFrom)) return peer || null
    let seen = Buffer.alloc(0)
    for (;;) {
      const piece = await this.#socket.piece(PROXY_MS)
      if (!piece) return null
      seen = Buffer.concat([seen, piece])
      const header = parseProxyHeader(seen)
      if (header.kind === 'invalid') {
        this.#shared.log.warn({ ip: peer }, `dropped a connection from a load balancer: ${header.why}`)
        return null
      }
      if (header.kind === 'incomplete') continue
      this.#socket.unread(seen.subarray(header.length))
      return header.source ?? peer
    }
  }

  async #admit(ip: string): Promise<void> {
    const { smtp } = this.#shared.capacity
    const connection = smtp.enter(ip, this.#kind.name === 'trusted')
    if (typeof connection === 'string') return this.#turnAway(ip, refuse(`connections_${connection}`))
    this.#counted = connection
    const refusal = this.#whyNot(ip)
    if (refusal) {
      // The connection still counts during the delay, so that a client that reconnects at once has fewer connections
      // left.
      await this.#socket.pause(HOLD_MS)
      return this.#turnAway(ip, refusal)
    }
    const [shared, socket, kind, port] = [this.#shared, this.#socket, this.#kind, this.#port]
    if (kind.name === 'implicit_tls') {
      await new Promise<void>((resolve) => shared.handshakes(resolve))
      if (!(await socket.startTls(shared.certificates))) return
    }
    this.#session = new Session({ commands: COMMANDS, shared, socket, kind, port, ip, connection })
    await this.#session.run()
    await (this.#session.quit ? socket.leave(PROXY_MS) : socket.end(LINGER_MS))
  }

  #whyNot(ip: string): Refusal | null {
    const kind = this.#kind
    if (kind.name === 'trusted' && !inNetworks(ip, kind.networks)) return refuse('smtp_network')
    return gateOf(this.#shared, kind, this.#port).banned(ip)
  }

  #turnAway(ip: string, refusal: Refusal): Promise<void> {
    const listener = this.#kind.name
    // With implicit TLS a reply would need a handshake, and its cost is what a flood of connections exploits.
    if (listener !== 'implicit_tls') this.#socket.write(writeReply(refusalReply(refusal)))
    this.#shared.log.info({ ip, listener, port: this.#port, reason: refusal.key }, 'smtp connection refused')
    return this.#socket.end(LINGER_MS)
  }
}
