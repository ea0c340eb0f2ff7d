/**
 * The TLS policies of recipient domains: what they demand of a connection, and what became of it. The door of this folder.
 *
 * DANE (RFC 7672) is used only where the resolver validates (`dns.trust_ad`), MTA-STS (RFC 8461) everywhere. What is decided for a host is
 * obeyed by the conversation (tls-demand.ts), and counted for reports to the domain (RFC 8460).
 */
import type { Clock } from '../../clock/clock.ts'
import type { Resolver } from '../../dns/dns.ts'
import type { TlsPolicyView } from '../../mail/tls-policy.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Logger } from '../../watch/log.ts'
import type { GuardedFetch } from '../../wire/fetch.ts'
import type { TlsResultType } from '../tls-demand.ts'
import { demandOf, type Demanded, type TlsWish } from './demand.ts'
import { createStsCache, type StsCache } from './sts-cache.ts'
import { createTally } from './tally.ts'
import { type DaneState, lookUpDane } from './tlsa.ts'
import { viewOf, type DomainPolicy } from './view.ts'

export { wishOf, type Demanded, type TlsWish } from './demand.ts'

/** What a session's TLS came to, as the conversation reports it. */
export interface TlsSession {
  /** Measured by the demand. */
  resultType: 'successful-session' | TlsResultType
  /** The same, measured by a demand for a valid certificate. */
  webPki: 'successful-session' | TlsResultType
  reason: string | null
  sendingIp: string | null
  receivingHost: string
  receivingIp: string
}

export interface TlsPolicies {
  /** @param mxAnswerAuthentic the `authentic` of the MX answer, found or absent */
  policyFor(domain: string, mxAnswerAuthentic: boolean): Promise<DomainPolicy>
  /** What is demanded of TLS with one MX host. A host that is skipped is counted as a failed session. Looks up TLSA where that can matter. */
  demandFor(policy: DomainPolicy, host: string, wish: TlsWish): Promise<Demanded>
  /** Counts a session; for each connection on which STARTTLS was due, once. Sessions for which policies were ignored are not counted. */
  record(
    policy: DomainPolicy,
    demanded: Demanded & { kind: 'demand' },
    wish: TlsWish,
    session: TlsSession,
  ): void
  /** What holds for a domain now and why, looked up without sending anything. */
  view(domain: string): Promise<TlsPolicyView>
  /** Writes what was counted so far; for tests, and before results are listed. */
  flush(): Promise<void>
  /** Keeps policies in use fresh; says in the log when DANE cannot be used. */
  start(): void
  stop(): Promise<void>
}

export interface TlsPolicyDeps {
  resolver: Pick<Resolver, 'resolve'>
  storage: Pick<
    Storage,
    'findStsPolicy' | 'saveStsPolicy' | 'useStsPolicy' | 'dueStsPolicies' | 'addTlsResults'
  >
  fetch: GuardedFetch
  clock: Clock
  log: Logger
  options: {
    /** `dns.trust_ad`. */
    trustAd: boolean
    /** `delivery.port`: TLSA records are of a port (RFC 6698 §3). */
    port: number
    /** Port of MTA-STS policy hosts; 443 but for tests. */
    stsPort?: number | undefined
  }
}

/** How often policies are looked through for old ones, in milliseconds. */
const REFRESH_EVERY = 60 * 60_000

/** Builds the policies; they work at once, `start()` adds what happens in the background. */
export function createTlsPolicies(deps: TlsPolicyDeps): TlsPolicies {
  const { resolver, log, options } = deps
  const sts = createStsCache({ ...deps, port: options.stsPort })
  const tally = createTally(deps)
  const refresher = createRefresher(sts, deps)

  const policyFor = async (name: string, mxAnswerAuthentic: boolean): Promise<DomainPolicy> => {
    const domain = name.toLowerCase()
    const mxAuthentic = options.trustAd && mxAnswerAuthentic
    const note =
      mxAnswerAuthentic && !options.trustAd
        ? 'DANE is not checked: dns.trust_ad is off, so the resolver is not trusted to validate DNSSEC.'
        : null
    return { domain, mxAuthentic, sts: await sts.stateOf(domain), note }
  }

  const decide = async (policy: DomainPolicy, host: string, wish: TlsWish): Promise<Demanded> => {
    const matters = policy.mxAuthentic && wish !== 'unimportant'
    const dane: DaneState = matters ? await lookUpDane(host, options.port, resolver) : { kind: 'none' }
    const demanded = demandOf({ domain: policy.domain, host, dane, sts: policy.sts }, wish)
    return demanded.note === null ? { ...demanded, note: policy.note } : demanded
  }

  return {
    policyFor,
    async demandFor(policy, host, wish) {
      const demanded = await decide(policy, host, wish)
      if (demanded.kind === 'skip') {
        const { policy: reported, resultType: result, why: reason } = demanded
        const where = { sourceIp: '', mxHost: host, mxIp: '' }
        tally.add({ domain: policy.domain, policy: reported, result, reason, ...where })
      }
      return demanded
    },
    record({ domain }, demanded, wish, session) {
      // RFC 8460 §3: a report about the delivery of reports would never end; they come with TLS-Required: No.
      if (wish === 'unimportant' || domain.startsWith('[')) return
      const { result, reason } = resultOf(demanded, session)
      const { sendingIp, receivingHost: mxHost, receivingIp: mxIp } = session
      tally.add({ domain, policy: demanded.policy, result, reason, sourceIp: sendingIp ?? '', mxHost, mxIp })
    },
    async view(domain) {
      return viewOf(domain.toLowerCase(), { resolver, policyFor, decide, trustAd: options.trustAd })
    },
    flush: () => tally.flush(),
    start() {
      if (!options.trustAd)
        log.info(
          'DANE is not used: dns.trust_ad is off. Set it to true if this machine runs a resolver that validates DNSSEC, such as unbound.',
        )
      refresher.start()
    },
    async stop() {
      await refresher.stop()
      await tally.stop()
    },
  }
}

/** Looks through the policies from time to time. */
function createRefresher(
  sts: StsCache,
  { clock, log }: TlsPolicyDeps,
): { start(): void; stop(): Promise<void> } {
  let stopped = true
  let cancel = (): void => undefined
  let refreshing: Promise<void> = Promise.resolve()
  const refresh = async (): Promise<void> => {
    try {
      const count = await sts.refresh()
      if (count > 0) log.info({ policies: count }, 'refreshed MTA-STS policies in use')
    } catch (error) {
      log.error({ err: error }, 'could not refresh MTA-STS policies; the stored ones stay in use')
    }
    if (!stopped) cancel = clock.after(REFRESH_EVERY, again)
  }
  const again = (): void => {
    refreshing = refresh()
  }
  return {
    start() {
      stopped = false
      again()
    },
    async stop() {
      stopped = true
      cancel()
      await refreshing
    },
  }
}

/** A session as reports count it: what failed, even where the policy let it pass (RFC 8460 §4.3). */
function resultOf(
  { watched }: Demanded & { kind: 'demand' },
  { resultType, webPki, reason }: TlsSession,
): { result: string; reason: string } {
  const ended = watched && 'testing' in watched ? webPki : resultType
  if (ended !== 'successful-session') return { result: ended, reason: reason ?? '' }
  if (watched && 'resultType' in watched) return { result: watched.resultType, reason: watched.why }
  if (watched?.mismatch) return { result: 'validation-failure', reason: watched.mismatch }
  return { result: 'success', reason: '' }
}
