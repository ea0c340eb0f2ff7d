import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** Where to send questions: which servers, and how they are written. */

/** One name server. `text` names it in notes: `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:5353`. */
export interface Server {
  ip: string
  port: number
  text: string
}

/** A server at an address; the port is written only where it is not 53. */
export function server(ip: string, port = 53): Server {
  const bracketed = ip.includes(':') && port !== 53 ? `[${ip}]` : ip
  return { ip, port, text: port === 53 ? ip : `${bracketed}:${port}` }
}

/** Reads `ip`, `ip:port`, `[ip6]` or `[ip6]:port`. Throws an Error that names the entry and says what is allowed. */
export function parseServer(entry: string): Server {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(entry.trim())
  const ip = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? 53)
  if (isIP(ip) === 0 || port < 1 || port > 65535) {
    throw new Error(`dns.servers: "${entry}" is not an address. Use ip, ip:port or [ip6]:port`)
  }
  return server(ip, port)
}

/**
 * The servers that resolv.conf(5) names, or this machine when it names none or cannot be read: a local
 * resolver without a resolv.conf is the common case on a mail server.
 */
export function systemServers(file = '/etc/resolv.conf'): Server[] {
  const servers = readLines(file).flatMap((line) => {
    const ip = /^\s*nameserver\s+(\S+)/.exec(line)?.[1]
    return ip && isIP(ip) !== 0 ? [server(ip)] : []
  })
  return servers.length > 0 ? servers : [server('127.0.0.1')]
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    // A missing resolv.conf means 127.0.0.1, as resolv.conf(5) says.
    return []
  }
}
