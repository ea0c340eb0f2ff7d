/** Connects to addresses and ports. Deadlines use real time, not the injected clock, because the network decides. */
import { createServer, connect } from 'node:net'

/** A server's first line, or why there is none, as the end of the sentence "the server …". */
export type Greeting = { kind: 'greeted'; line: string } | { kind: 'silent' | 'unreachable'; note: string }

/** The address and port to dial. */
export interface DialTarget {
  ip: string
  port: number
  /** Local IP; undefined lets the system choose. */
  localAddress?: string | undefined
  /** Milliseconds for the connection and greeting together. */
  timeoutMs: number
}

/** Maximum number of bytes of a greeting that are read (RFC 5321 §4.5.3.1.5 allows 512 for a line). */
const MOST_BYTES = 1024

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'refuses connections',
  EHOSTUNREACH: 'is unreachable',
  ENETUNREACH: 'is unreachable: there is no route to its network',
  ETIMEDOUT: 'does not respond',
  ECONNRESET: 'closes the connection at once',
  EADDRNOTAVAIL: 'was not contacted: the sending IP is not an address of this machine',
  EACCES: 'was not contacted: a local firewall blocks it',
  EPERM: 'was not contacted: a local firewall blocks it',
}

const reasonOf = (error: NodeJS.ErrnoException): string =>
  REASONS[error.code ?? ''] ?? `cannot be reached (${error.code ?? error.message})`

/** Connects, waits for a greeting and sends QUIT. Never rejects. */
export function dialForGreeting({ ip, port, localAddress, timeoutMs }: DialTarget): Promise<Greeting> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port, localAddress })
    let text = ''
    let connected = false
    const settle = (greeting: Greeting): void => {
      clearTimeout(timer)
      resolve(greeting)
      if (greeting.kind === 'greeted') socket.end('QUIT\r\n')
      else socket.destroy()
    }
    const seconds = Math.round(timeoutMs / 1000)
    const timer = setTimeout(() => {
      settle(
        connected
          ? { kind: 'silent', note: `accepts the connection but sends nothing for ${seconds} seconds` }
          : { kind: 'unreachable', note: `does not respond within ${seconds} seconds` },
      )
      socket.destroy()
    }, timeoutMs)
    socket.setEncoding('latin1')
    socket.once('connect', () => (connected = true))
    socket.on('data', (chunk: string) => {
      text += chunk
      if (!text.includes('\n') && text.length < MOST_BYTES) return
      settle({ kind: 'greeted', line: text.split(/\r?\n/, 1)[0]!.slice(0, MOST_BYTES) })
    })
    socket.on('error', (error) =>
      settle({ kind: connected ? 'silent' : 'unreachable', note: reasonOf(error) }),
    )
    socket.on('end', () => settle({ kind: 'silent', note: 'closes the connection without a greeting' }))
    // Don't wait long for a server that doesn't close after QUIT.
    socket.setTimeout(timeoutMs + 1000, () => socket.destroy())
  })
}

/** Connects and closes. Returns null on success, else the reason. Never rejects. */
export function testConnection({ ip, port, timeoutMs }: DialTarget): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port, timeout: timeoutMs })
    const settle = (why: string | null): void => {
      socket.destroy()
      resolve(why)
    }
    socket.once('connect', () => settle(null))
    socket.once('timeout', () => settle('does not respond'))
    socket.on('error', (error) => settle(reasonOf(error)))
  })
}

/** Checks whether this machine has an address. Returns null if it does, else why it can't be used. Never rejects. */
export function probeAddress(ip: string): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        error.code === 'EADDRNOTAVAIL'
          ? `${ip} is not an address of this machine`
          : `${ip} cannot be used (${error.code ?? error.message})`,
      ),
    )
    server.listen({ host: ip, port: 0, exclusive: true }, () => server.close(() => resolve(null)))
  })
}
