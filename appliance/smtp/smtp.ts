/** The SMTP server (RFC 5321): by STARTTLS, by implicit TLS (RFC 8314), and from trusted networks. What it takes goes through its doors. */
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
export type { Arriving, Client, Door, MailCommand, Recipient, SubmissionDoor, Taken } from './door.ts'

/** An address to listen on and what it demands. */
export interface ListenRequest {
  /** `host:port` */
  address: string
  kind: ListenerKind
  /** Nobody asked for it by name: where it cannot be had, that is logged and the rest goes on. */
  byDefault?: boolean
}

export interface SmtpServer {
  /**
   * Binds all addresses or none of them; returns them as `host:port` with the ports they really got, in order, and null
   * for one by default that cannot be had. Rejects with a sentence that names the address, the setting and the remedy.
   */
  listen(requests: readonly ListenRequest[]): Promise<(string | null)[]>
  /** Reads the certificate files again; rejects with a sentence when they do not fit. */
  reloadTls(): Promise<void>
  /** Takes no new connections, says goodbye to idle sessions, lets messages in flight finish. */
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
          // Half-open: a client that has said everything may close its side and still read the replies.
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

/** Binds; with a log, what cannot be bound is told there and is null. */
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

/** A connection from its first octet: who it is, whether it may come in, then the session. */
class Connection {
  /** Resolves when it is over. */
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
    // Somebody who has yet to say who they are, to shake hands, or to hear that they may not come in.
    else this.#socket.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Who is there: the peer, or whom a balancer speaks for. Null when the connection is to be dropped. */
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
      // Counted meanwhile: whoever connects again at once has few connections for it.
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
    // Under implicit TLS nothing can be said before the handshake, which is what floods are made to cost us.
    if (listener !== 'implicit_tls') this.#socket.write(writeReply(refusalReply(refusal)))
    this.#shared.log.info({ ip, listener, port: this.#port, reason: refusal.key }, 'smtp connection refused')
    return this.#socket.end(LINGER_MS)
  }
}
