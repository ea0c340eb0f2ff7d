/** The SMTP server (RFC 5321), with STARTTLS, with implicit TLS (RFC 8314), and for trusted networks. */
import { createServer, type Server, type Socket } from 'node:net'
import {
  createLoopQueue,
  createLoopLimiter,
  REFUSAL_DELAY_MS,
  type Connection as CountedConnection,
} from '../capacity/capacity.ts'
import { refuse, type Refusal } from '../mail/refusals.ts'
import { bindServer, StartupError, formatHostPort, type HostPort } from '../wire/listeners.ts'
import { isInNetworks } from '../wire/networks.ts'
import { parseProxyHeader, unmapIpv4 } from '../wire/proxy-protocol.ts'
import type { ListenerKind, SharedState, SmtpServerDeps } from './deps.ts'
import { createNetworkBans } from './gate.ts'
import { GRACE_MS, LINGER_MS, MAX_SESSIONS_PER_TURN, MAX_HANDSHAKES_PER_TURN, PROXY_MS } from './limits.ts'
import { formatRefusal, encodeReply } from './reply.ts'
import { getNetworkBans, Session } from './session.ts'
import { SmtpSocket } from './socket.ts'
import { COMMANDS } from './commands.ts'

export type { SmtpConfig, SmtpServerDeps } from './deps.ts'
export type {
  IncomingMessage,
  Client,
  MailHandler,
  MailCommand,
  Recipient,
  SubmissionHandler,
  StoredMessage,
} from './handler.ts'

/** An address to listen on, and the kind of its listener. */
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
   * address that can't be bound. Rejects with an error whose message names the address, the setting and the remedy.
   */
  listen(requests: readonly ListenRequest[]): Promise<(string | null)[]>
  /** Reloads the certificate files. Rejects with an error whose message is a sentence if they are invalid. */
  reloadTls(): Promise<void>
  /** Stops accepting connections, ends idle sessions, and lets messages in flight finish. */
  close(): Promise<void>
}

export function createSmtpServer(deps: SmtpServerDeps): SmtpServer {
  const { clock, shareOf } = deps
  const bans = () => createNetworkBans(clock, shareOf)
  const shared: SharedState = {
    ...deps,
    gates: { submission: bans(), publicMx: bans() },
    share: createLoopLimiter(MAX_SESSIONS_PER_TURN),
    handshakes: createLoopQueue(MAX_HANDSHAKES_PER_TURN),
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
          // Allow half-open connections, because a client may close its side and still read the replies.
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

/** Binds an address. With a log, a failure is logged and null is returned. */
async function bindOr(
  log: SmtpServerDeps['log'] | null,
  server: Server,
  address: string,
  setting: string,
): Promise<HostPort | null> {
  try {
    return await bindServer(server, address, setting)
  } catch (error) {
    if (!log || !(error instanceof StartupError)) throw error
    log.error(`${error.message} Until then, this listener accepts no mail.`)
    return null
  }
}

/** A connection: determines the client's IP, checks whether it may connect, then runs the session. */
class Connection {
  /** Resolves when the connection is closed. */
  readonly done: Promise<void>
  readonly #shared: SharedState
  readonly #kind: ListenerKind
  readonly #port: number
  readonly #socket: SmtpSocket
  #finished: () => void = () => undefined
  #session: Session | null = null
  #counted: CountedConnection | null = null

  constructor(shared: SharedState, socket: Socket, kind: ListenerKind, port: number) {
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

  /** Returns the client's IP: the peer's, or the one in a PROXY header. Null if the connection must be dropped. */
  async #source(): Promise<string | null> {
    const peer = unmapIpv4(this.#socket.remoteAddress)
    if (peer === '' || !isInNetworks(peer, this.#shared.config.proxyProtocolFrom)) return peer || null
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
      // The connection still counts during the delay, so that a client that reconnects immediately has fewer
      // connections left.
      await this.#socket.pause(REFUSAL_DELAY_MS)
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
    if (kind.name === 'trusted' && !isInNetworks(ip, kind.networks)) return refuse('smtp_network')
    return getNetworkBans(this.#shared, kind, this.#port).banned(ip)
  }

  #turnAway(ip: string, refusal: Refusal): Promise<void> {
    const listener = this.#kind.name
    // With implicit TLS, a reply would require a handshake, and a flood of connections exploits the cost of handshakes.
    if (listener !== 'implicit_tls') this.#socket.write(encodeReply(formatRefusal(refusal)))
    this.#shared.log.info({ ip, listener, port: this.#port, reason: refusal.key }, 'smtp connection refused')
    return this.#socket.end(LINGER_MS)
  }
}
