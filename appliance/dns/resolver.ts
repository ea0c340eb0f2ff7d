import type { Clock } from '../clock/clock.ts'
import { askAuthorities, askEachAuthority } from './authority.ts'
import { AnswerCache } from './cache.ts'
import { Client } from './client.ts'
import type { Resolver, Surveyor } from './dns.ts'
import { parseServer, systemServers } from './servers.ts'
import { canonical } from './interpret.ts'

/** What `createResolver` needs; everything but servers and clock has a default. */
export interface ResolverOptions {
  /** `ip`, `ip:port` or `[ip6]:port`, asked in this order; empty for the system's. */
  servers: string[]
  /** Tells when a cached answer is over. Network deadlines are real time. */
  clock: Clock
  /** For one try at one server, in milliseconds; the second round waits twice as long. Default 2000. */
  timeoutMs?: number
  /** Where the system's servers are read from. Default /etc/resolv.conf. */
  systemFile?: string
  /** Port on which authoritative servers are asked. Default 53. */
  authoritativePort?: number
  /** Addresses that `resolveAuthoritative` must not be led to by a zone's NS records. Default: none is forbidden. */
  isForbidden?: (ip: string) => boolean
}

/**
 * A resolver that asks recursive servers and remembers their answers.
 * Throws an Error that names the entry when one of `servers` is not an address; its methods never throw.
 *
 * `authentic` repeats the servers' AD flag: worth something only where the servers validate and the way to them
 * is safe (`dns.trust_ad`). The TTL of an answer is in seconds, and is what remains of it.
 */
export function createResolver(options: ResolverOptions): Resolver & Surveyor {
  const servers =
    options.servers.length > 0 ? options.servers.map(parseServer) : systemServers(options.systemFile)
  const client = new Client({ timeoutMs: options.timeoutMs ?? 2000 })
  const cache = new AnswerCache(options.clock)
  const authority = {
    client,
    servers,
    port: options.authoritativePort ?? 53,
    isForbidden: options.isForbidden ?? (() => false),
  }
  return {
    resolve(name, type) {
      const asked = canonical(name)
      return cache.get(asked, type, () => client.lookup(servers, asked, type))
    },
    resolveAuthoritative: (name, type) => askAuthorities(authority, name, type),
    survey: (name, type) => askEachAuthority(authority, name, type),
    close: () => client.close(),
  }
}
