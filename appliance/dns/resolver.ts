import type { Clock } from '../clock/clock.ts'
import { queryAuthorities, queryEachAuthority } from './authority.ts'
import { AnswerCache } from './cache.ts'
import { DnsClient } from './client.ts'
import type { Resolver, AuthorityResolver } from './dns.ts'
import { parseServer, readSystemServers } from './servers.ts'
import { canonicalizeName } from './interpret.ts'

/** Options of `createResolver`. Everything but servers and clock has a default. */
export interface ResolverOptions {
  /** `ip`, `ip:port` or `[ip6]:port`, tried in this order; empty to use the system's servers. */
  servers: string[]
  /** Decides when a cached answer expires. Network timeouts use real time. */
  clock: Clock
  /** Timeout for one query to one server in milliseconds; the second round waits twice as long. Default 2000. */
  timeoutMs?: number
  /** The resolv.conf file to read. Default /etc/resolv.conf. */
  systemFile?: string
  /** Port of authoritative servers. Default 53. */
  authoritativePort?: number
  /** Addresses that are never contacted, even if the NS records of a zone lead to them. Default: none. */
  isForbidden?: (ip: string) => boolean
}

/**
 * Creates a resolver that queries recursive servers and caches their answers. Throws an Error that names the entry when
 * one of `servers` is invalid; its methods never throw.
 *
 * `authentic` repeats the servers' AD flag. It can be trusted only when the servers validate and the path to them is
 * safe (`dns.trust_ad`). The TTL of an answer is the remaining time, in seconds.
 */
export function createResolver(options: ResolverOptions): Resolver & AuthorityResolver {
  const servers =
    options.servers.length > 0 ? options.servers.map(parseServer) : readSystemServers(options.systemFile)
  const client = new DnsClient({ timeoutMs: options.timeoutMs ?? 2000 })
  const cache = new AnswerCache(options.clock)
  const authority = {
    client,
    servers,
    port: options.authoritativePort ?? 53,
    isForbidden: options.isForbidden ?? (() => false),
  }
  return {
    resolve(name, type) {
      const asked = canonicalizeName(name)
      return cache.get(asked, type, () => client.lookup(servers, asked, type))
    },
    resolveAuthoritative: (name, type) => queryAuthorities(authority, name, type),
    survey: (name, type) => queryEachAuthority(authority, name, type),
    close: () => client.close(),
  }
}
