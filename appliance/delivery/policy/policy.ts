/**
 * TLS policies of recipient domains: the requirements for a connection, and counts of the results. The entry point of
 * this folder.
 *
 * Uses DANE (RFC 7672) only if the resolver validates (`dns.trust_ad`), MTA-STS (RFC 8461) always. The conversation
 * enforces the requirement (tls-demand.ts); results are counted for reports to the domain (RFC 8460).
 */
import type { Clock } from '../../clock/clock.ts'
import type { Resolver } from '../../dns/dns.ts'
import type { TlsPolicyView } from '../../mail/tls-policy.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Logger } from '../../watch/log.ts'
import type { GuardedFetch } from '../../wire/fetch.ts'
import type { TlsResultType } from '../tls-demand.ts'
import { decideTls, type TlsDecision, type TlsPreference } from './requirement.ts'
import { createStsCache, type StsCache } from './sts-cache.ts'
import { createTlsCounter } from './tls-counter.ts'
import { type DaneState, lookUpDane } from './tlsa.ts'
import { loadTlsPolicyView, type DomainPolicy } from './view.ts'

export { resolveTlsPreference, type TlsDecision, type TlsPreference } from './requirement.ts'

/** The TLS result of a session. */
export interface TlsSession {
  /** Result according to the TLS requirement. */
  resultType: 'successful-session' | TlsResultType
  /** Result as if a valid certificate were required. */
  webPki: 'successful-session' | TlsResultType
  reason: string | null
  sendingIp: string | null
  receivingHost: string
  receivingIp: string
}

export interface TlsPolicies {
  /**
   * Looks up the policies of a domain.
   * @param mxAnswerAuthentic whether the MX answer, found or absent, was authenticated
   */
  policyFor(domain: string, mxAnswerAuthentic: boolean): Promise<DomainPolicy>
  /**
   * Returns the TLS requirement for one MX host. Counts a skipped host as a failed session. Looks up TLSA records if
   * they can matter.
   */
  demandFor(policy: DomainPolicy, host: string, wish: TlsPreference): Promise<TlsDecision>
  /**
   * Counts a session; call once for each connection that should use STARTTLS. Sessions that ignore policies aren't
   * counted.
   */
  record(
    policy: DomainPolicy,
    demanded: TlsDecision & { kind: 'demand' },
    wish: TlsPreference,
    session: TlsSession,
  ): void
  /** Looks up a domain's current policies and the reasons for them, without sending mail. */
  view(domain: string): Promise<TlsPolicyView>
  /** Writes pending counts; for tests, and before results are listed. */
  flush(): Promise<void>
  /** Starts to refresh policies in use; logs when DANE can't be used. */
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
    /** `delivery.port`: TLSA records apply to a port (RFC 6698 §3). */
    port: number
    /** Port of MTA-STS policy hosts; always 443 except in tests. */
    stsPort?: number | undefined
  }
}

/** How often to look for outdated policies, in milliseconds. */
const REFRESH_EVERY = 60 * 60_000

/** Creates the policies. They can be used at once; `start()` adds the background work. */
export function createTlsPolicies(deps: TlsPolicyDeps): TlsPolicies {
  const { resolver, log, options } = deps
  const sts = createStsCache({ ...deps, port: options.stsPort })
  const counter = createTlsCounter(deps)
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

  const decide = async (policy: DomainPolicy, host: string, wish: TlsPreference): Promise<TlsDecision> => {
    const matters = policy.mxAuthentic && wish !== 'unimportant'
    const dane: DaneState = matters ? await lookUpDane(host, options.port, resolver) : { kind: 'none' }
    const demanded = decideTls({ domain: policy.domain, host, dane, sts: policy.sts }, wish)
    return demanded.note === null ? { ...demanded, note: policy.note } : demanded
  }

  return {
    policyFor,
    async demandFor(policy, host, wish) {
      const demanded = await decide(policy, host, wish)
      if (demanded.kind === 'skip') {
        const { policy: reported, resultType: result, why: reason } = demanded
        const where = { sourceIp: '', mxHost: host, mxIp: '' }
        counter.add({ domain: policy.domain, policy: reported, result, reason, ...where })
      }
      return demanded
    },
    record({ domain }, demanded, wish, session) {
      // Reports about the delivery of reports would never end (RFC 8460 §3); reports are sent with TLS-Required: No.
      if (wish === 'unimportant' || domain.startsWith('[')) return
      const { result, reason } = resultOf(demanded, session)
      const { sendingIp, receivingHost: mxHost, receivingIp: mxIp } = session
      const where = { sourceIp: sendingIp ?? '', mxHost, mxIp }
      counter.add({ domain, policy: demanded.policy, result, reason, ...where })
    },
    async view(domain) {
      return loadTlsPolicyView(domain.toLowerCase(), {
        resolver,
        policyFor,
        decide,
        trustAd: options.trustAd,
      })
    },
    flush: () => counter.flush(),
    start() {
      if (!options.trustAd)
        log.info(
          'DANE is not used: dns.trust_ad is off. Set it to true if this machine runs a resolver that validates DNSSEC, such as unbound.',
        )
      refresher.start()
    },
    async stop() {
      await refresher.stop()
      await counter.stop()
    },
  }
}

/** Refreshes the policies periodically. */
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

/** Returns the result of a session for reports: its failure, even if the policy tolerated it (RFC 8460 §4.3). */
function resultOf(
  { watched }: TlsDecision & { kind: 'demand' },
  { resultType, webPki, reason }: TlsSession,
): { result: string; reason: string } {
  const ended = watched && 'testing' in watched ? webPki : resultType
  if (ended !== 'successful-session') return { result: ended, reason: reason ?? '' }
  if (watched && 'resultType' in watched) return { result: watched.resultType, reason: watched.why }
  if (watched?.mismatch) return { result: 'validation-failure', reason: watched.mismatch }
  return { result: 'success', reason: '' }
}
