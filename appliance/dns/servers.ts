import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** Parses and formats the addresses of DNS servers. */

/** A name server. `text` is its format in notes: `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:5353`. */
export interface Server {
  ip: string
  port: number
  text: string
}

/** Creates a server; its text has the port only when that isn't 53. */
export function createServer(ip: string, port = 53): Server {
  const bracketed = ip.includes(':') && port !== 53 ? `[${ip}]` : ip
  return { ip, port, text: port === 53 ? ip : `${bracketed}:${port}` }
}

/** Parses `ip`, `ip:port`, `[ip6]` or `[ip6]:port`. Throws an Error that names the entry and the valid forms. */
export function parseServer(entry: string): Server {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+|[^[\]]*:[^[\]]*:[^[\]]*))(?::(\d{1,5}))?$/.exec(entry.trim())
  const ip = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? 53)
  if (isIP(ip) === 0 || port < 1 || port > 65535) {
    throw new Error(`dns.servers: "${entry}" is not an address. Use ip, ip:port or [ip6]:port`)
  }
  return createServer(ip, port)
}

/**
 * Reads the servers from resolv.conf(5). Falls back to this machine when the file names none or can't be read, because
 * mail servers often run a local resolver without it.
 */
export function readSystemServers(file = '/etc/resolv.conf'): Server[] {
  const servers = readLines(file).flatMap((line) => {
    const ip = /^\s*nameserver\s+(\S+)/.exec(line)?.[1]
    return ip && isIP(ip) !== 0 ? [createServer(ip)] : []
  })
  return servers.length > 0 ? servers : [createServer('127.0.0.1')]
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    // A missing resolv.conf means 127.0.0.1 (resolv.conf(5)).
    return []
  }
}
