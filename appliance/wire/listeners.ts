/** Binds TCP servers to configured addresses, with errors that say what to do. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** The daemon can't start. The message explains why, in a sentence for people. */
export class StartupError extends Error {}

/**
 * Length of the accept queue. When it is full, the kernel drops connections, and clients retry only after one, three
 * and seven seconds, so a burst must fit. Linux allows 4096 by default (`net.core.somaxconn`).
 */
const BACKLOG = 4096

/** A listening address. */
export interface HostPort {
  /** An IP or host name, without brackets. */
  host: string
  port: number
}

/** Parses `host:port`, with IPv6 in brackets. Throws an error whose message is a sentence for people. */
export function parseHostPort(address: string): HostPort {
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(address)
  const port = Number(match?.[3])
  if (!match || port > 65_535)
    throw new StartupError(`Cannot listen on "${address}": use host:port, such as 0.0.0.0:587 or [::]:587.`)
  return { host: match[1] ?? match[2]!, port }
}

/** Formats an address so that `parseHostPort` can parse it. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/**
 * Binds a server and returns its actual address (port 0 lets the system choose).
 * Rejects with a `StartupError` that names the address, the setting and the remedy.
 * @param setting the configuration key of the address, such as `smtp.starttls`
 */
export async function bindServer(server: Server, address: string, setting: string): Promise<HostPort> {
  const { host, port } = parseHostPort(address)
  try {
    server.listen({ host, port, backlog: BACKLOG })
    await once(server, 'listening')
  } catch (error) {
    throw new StartupError(explainBindError(error as NodeJS.ErrnoException, address, setting), {
      cause: error,
    })
  }
  const bound = server.address() as AddressInfo
  return { host: bound.address, port: bound.port }
}

/** Explains why a socket couldn't be bound, and what to do. Pure. */
export function explainBindError(error: NodeJS.ErrnoException, address: string, setting: string): string {
  const { host, port } = parseHostPort(address)
  const what = `Cannot listen on ${address} (${setting})`
  switch (error.code) {
    case 'EACCES':
      return `${what}: ports below 1024 require privileges. Give the service CAP_NET_BIND_SERVICE (the systemd unit does), run it as root, or set ${setting} to other ports.`
    case 'EADDRINUSE':
      return `${what}: another program uses port ${port}; \`ss -ltnp 'sport = :${port}'\` shows it. Stop it, or remove the port from ${setting}.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${what}: this machine has no address ${host}. Correct ${setting}, or use 0.0.0.0 for all addresses.`
    default:
      return `${what}: ${error.message}.`
  }
}
