import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Clock } from '../clock/clock.ts'
import type { CertificatePair } from '../wire/self-signed.ts'
import { findBehavior } from './behaviours.ts'

/** A message accepted by an exchanger of the sandbox. */
export interface CapturedMessage {
  mailFrom: string
  rcptTo: string[]
  helo: string
  /** IP of the client. */
  ip: string
  /** TLS version; null for plaintext. */
  tls: string | null
  /** The message, with CRLF line ends. */
  raw: Buffer
}

export interface ExchangerDeps {
  clock: Clock
  certificate: CertificatePair
  maxBytes: number
  /** Stores the message. The exchanger replies 250 once this resolves. */
  deliver(message: CapturedMessage): Promise<void>
}

/** How long the second exchanger of a domain keeps failing handshakes, in milliseconds. */
const BROKEN_TLS_MS = 60_000

/** State that exchangers keep between connections. */
interface Memory {
  /** When a recipient was first refused, for greylisting. */
  refusedAt: Map<string, number>
  /** For each second exchanger whose handshakes fail, the time until which they fail. */
  brokenTls: Map<string, number>
}

class SmtpError extends Error {
  readonly responseCode: number
  constructor(code: number, text: string) {
    super(text)
    this.responseCode = code
  }
}

const addressOf = (value: { address: string } | false): string => (value ? value.address : '')

/** A private part of smtp-server's connections, because handlers get a session without its socket. */
interface Connection {
  id: string
  _socket?: { destroy(): void }
  /** Whether a STARTTLS handshake is in progress. */
  _upgrading?: boolean
}

/** Closes the selected connections without a reply. */
function closeAbruptly(server: SMTPServer, which: (connection: Connection) => boolean): void {
  const connections = [...server.connections] as unknown as Connection[]
  for (const connection of connections.filter(which)) connection._socket?.destroy()
}

/** Returns the reply to RCPT that refuses a recipient; undefined to accept it. */
function refusalFor(address: string, deps: ExchangerDeps, memory: Memory): SmtpError | undefined {
  const behaviour = findBehavior(address)
  if (!behaviour?.rcpt) return undefined
  if (behaviour.untilAfterMs !== undefined) {
    const now = deps.clock.now()
    const first = memory.refusedAt.get(address)
    if (first !== undefined && now >= first + behaviour.untilAfterMs) return undefined
    if (first === undefined) memory.refusedAt.set(address, now)
  }
  return new SmtpError(behaviour.rcpt.code, behaviour.rcpt.text)
}

function handlers(deps: ExchangerDeps, memory: Memory, self: () => SMTPServer): SMTPServerOptions {
  return {
    onRcptTo({ address }, session, done) {
      const behaviour = findBehavior(address)
      if (behaviour?.drop === 'rcpt' && session.secure) {
        const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
        if (behaviour.breakTls) memory.brokenTls.set(`mx2.${domain}`, deps.clock.now() + BROKEN_TLS_MS)
        closeAbruptly(self(), ({ id }) => id === session.id)
        return
      }
      const answer = (): void => done(refusalFor(address, deps, memory))
      if (behaviour?.delayMs) setTimeout(answer, behaviour.delayMs)
      else answer()
    },
    onData(stream, session, done) {
      const recipients = session.envelope.rcptTo.map(({ address }) => address)
      const special = recipients
        .map(findBehavior)
        .find((behaviour) => behaviour?.body ?? behaviour?.drop === 'body')
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => {
        if (special?.drop === 'body') closeAbruptly(self(), ({ id }) => id === session.id)
        parts.push(part)
      })
      stream.on('end', () => {
        if (special?.body) return done(new SmtpError(special.body.code, special.body.text))
        if (stream.sizeExceeded) return done(new SmtpError(552, '5.3.4 Message too large'))
        const message = {
          mailFrom: addressOf(session.envelope.mailFrom),
          rcptTo: recipients,
          helo: session.hostNameAppearsAs || '',
          ip: session.remoteAddress,
          tls: session.tlsOptions ? session.tlsOptions.version : null,
          raw: Buffer.concat(parts),
        }
        deps.deliver(message).then(
          () => done(null, 'Accepted by the sandbox'),
          (error: unknown) => done(new SmtpError(451, `4.3.0 ${String(error)}`)),
        )
      })
    },
  }
}

/** Starts one mail exchanger per IP, all on the same port (0 for a free one). */
export async function startExchangers(
  addresses: string[],
  port: number,
  deps: ExchangerDeps,
): Promise<{ port: number; close(): Promise<void> }> {
  const memory: Memory = { refusedAt: new Map(), brokenTls: new Map() }
  const servers: SMTPServer[] = []
  for (const address of addresses) {
    const server: SMTPServer = new SMTPServer({
      ...handlers(deps, memory, () => server),
      ...deps.certificate,
      name: 'sandbox',
      banner: 'Posthaste sandbox',
      authOptional: true,
      disabledCommands: ['AUTH'],
      size: deps.maxBytes,
      maxAllowedUnauthenticatedCommands: false,
      SNICallback: (name, done) => {
        // All handshakes until this time fail, because a client retries with a smaller ClientHello before it falls back
        // to plaintext.
        const until = memory.brokenTls.get(name.toLowerCase()) ?? 0
        if (deps.clock.now() < until) return closeAbruptly(server, ({ _upgrading }) => _upgrading === true)
        memory.brokenTls.delete(name.toLowerCase())
        done(null)
      },
    })
    server.on('error', () => undefined) // Expected, because clients may disconnect.
    await new Promise<void>((resolve, reject) => {
      server.server.once('error', reject)
      server.listen(port, address, () => resolve())
    })
    port ||= (server.server.address() as { port: number }).port
    servers.push(server)
  }
  return {
    port,
    close: async () => {
      await Promise.all(
        servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
      )
    },
  }
}
