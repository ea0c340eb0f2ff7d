/** Publishes an MTA-STS policy (RFC 8461) for each subdomain that a sending domain delegates to our DNS server. */
import type { SecureContext } from 'node:tls'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { formatPolicyFile, getPolicyHost } from '../senders/senders.ts'
import type { Certificates } from '../wire/certificates.ts'
import { checkTrustExpiry } from '../wire/verify-certificate.ts'
import { isShared } from './node.ts'

/**
 * Reports whether this server can serve policies, which requires ACME certificates and an HTTPS listener. The
 * listener's port isn't checked, because a firewall or container may forward 443 to it; a policy that senders can't
 * fetch has no effect. With dns-01, a hook would have to publish records in a zone that this server answers for. With
 * several nodes, a policy would name only one of the mail exchangers.
 */
export function canServePolicies(config: Pick<Config, 'acme' | 'http' | 'nameserver' | 'storage'>): boolean {
  const { acme, http, nameserver } = config
  const isCertified = acme.agree_terms && acme.challenge !== 'dns-01'
  return nameserver.zone !== undefined && isCertified && http.tls_listen.length > 0 && !isShared(config)
}

interface Deps {
  /** The mail exchanger of all delegated subdomains. */
  hostname: string
  certificates: Pick<Certificates, 'contextFor' | 'covers'>
  clock: Clock
  /** PEM of an authority that senders trust, for tests. */
  ca?: string | undefined
}

/** The policies that are published. */
export interface Policies {
  /** Checks the certificates of the mail exchanger. Call it before `publish`. */
  refresh(): Promise<void>
  /**
   * Returns the policy to publish for a subdomain; null if senders couldn't fetch it because there is no certificate.
   */
  publish(apex: string): string | null
  /** Replaces the subdomains whose policies are served. */
  serve(apexes: readonly string[]): void
  /** Returns the policy file that a host serves; null for a host without one. */
  fileOf(host: string): string | null
}

/** Creates the policies. None is served before `serve`. */
export function createPolicies({ hostname, certificates, clock, ca }: Deps): Policies {
  /** Caches results by certificate, because a handshake costs a millisecond. */
  const tried = new WeakMap<SecureContext, Promise<number>>()
  const until = (context: SecureContext): Promise<number> => {
    const known = tried.get(context) ?? checkTrustExpiry(context, hostname, ca)
    tried.set(context, known)
    return known
  }
  let served = new Set<string>()
  let file = ''
  return {
    async refresh() {
      // Some senders send no SNI.
      const shown = [certificates.contextFor(hostname), certificates.contextFor()]
      const trusted = Math.min(...(await Promise.all(shown.map(until))))
      file = formatPolicyFile(hostname, trusted, clock.now())
    },
    publish: (apex) => (certificates.covers(getPolicyHost(apex)) ? file : null),
    serve: (apexes) => void (served = new Set(apexes.map(getPolicyHost))),
    fileOf: (host) => (served.has(host.toLowerCase()) ? file : null),
  }
}
