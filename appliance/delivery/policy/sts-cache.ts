/** Discovers, fetches and caches MTA-STS policies (RFC 8461 §3.3, §5.1). */
import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../clock/clock.ts'
import type { Resolver } from '../../dns/dns.ts'
import type { Storage, StoredStsPolicy } from '../../storage/storage.ts'
import type { Logger } from '../../watch/log.ts'
import type { GuardedFetch } from '../../wire/fetch.ts'
import { parseStsPolicy, parseStsRecord } from './sts.ts'

/**
 * The policy in effect, if any. `trouble` is a problem that was found with or without such a policy, as a sentence and
 * a result type (RFC 8460 §4.3).
 */
export interface StsState {
  /** The policy in effect; null if the domain publishes no policy or it couldn't be fetched. */
  held: StoredStsPolicy | null
  trouble: StsProblem | null
}

export interface StsProblem {
  why: string
  resultType: 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid'
}

export interface StsDeps {
  resolver: Pick<Resolver, 'resolve'>
  storage: Pick<Storage, 'findStsPolicy' | 'saveStsPolicy' | 'useStsPolicy' | 'dueStsPolicies'>
  /** Refuses IPs that aren't public; has a timeout of a minute (RFC 8461 §3.3). */
  fetch: GuardedFetch
  clock: Clock
  log: Logger
  /** Port of policy hosts; always 443 except in tests. */
  port?: number | undefined
}

export interface StsCache {
  /** Returns the policy of a domain. Fetches it if it is new. Never rejects because of the network. */
  stateOf(domain: string): Promise<StsState>
  /**
   * Fetches policies again that were last fetched a day ago, so that policies in use don't expire (RFC 8461 §3.3).
   * Returns the number of policies that were due.
   */
  refresh(): Promise<number>
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Maximum size of a policy file (RFC 8461 §3.3); real ones have a few hundred octets. */
const MOST_BYTES = 64 * 1024
/** Pause after a failed fetch, at least five minutes (RFC 8461 §3.3). */
const PAUSE = 5 * MINUTE
/** Cached domains; a limit given as `max` would allocate all entries at startup. */
const BOUND = { maxSize: 10_000, sizeCalculation: () => 1 }
/** Policies unused for a month may expire. */
const REFRESH_USED = 31 * DAY
const REFRESH_AT_ONCE = 20

class TooLarge extends Error {}

/** Creates the cache; storage keeps policies across restarts. */
export function createStsCache(deps: StsDeps): StsCache {
  return new Cache(deps)
}

class Cache implements StsCache {
  readonly #deps: StsDeps
  readonly #known = new LRUCache<string, { policy: StoredStsPolicy | null }>(BOUND)
  readonly #failures = new LRUCache<string, { id: string; trouble: StsProblem; at: number }>(BOUND)
  readonly #flights = new Map<string, Promise<StsState>>()

  constructor(deps: StsDeps) {
    this.#deps = deps
  }

  async stateOf(domain: string): Promise<StsState> {
    const state = await this.#discover(domain)
    if (state.held) await this.#touch(state.held)
    return state
  }

  async refresh(): Promise<number> {
    const { storage, clock } = this.#deps
    const now = clock.now()
    const due = await storage.dueStsPolicies(
      { checkedBefore: now - DAY, usedAfter: now - REFRESH_USED, limit: REFRESH_AT_ONCE },
      now,
    )
    for (const old of due)
      await refreshOne(old, this.#deps, (domain, id, known) => this.#renewOnce(domain, id, known))
    return due.length
  }

  async #discover(domain: string): Promise<StsState> {
    if (domain.startsWith('[') || isIP(domain) !== 0 || !domain.includes('.'))
      return { held: null, trouble: null }
    const answer = await this.#deps.resolver.resolve(`_mta-sts.${domain}`, 'TXT')
    const stored = await this.#remembered(domain)
    const now = this.#deps.clock.now()
    const live = stored && stored.expiresAt > now ? stored : null
    // A cached policy applies whatever happens to DNS. Without one, the domain counts as having none (RFC 8461 §3.3).
    if (answer.kind === 'failed') return { held: live, trouble: null }
    const record = answer.kind === 'absent' ? { kind: 'none' as const } : parseStsRecord(answer.records)
    if (record.kind === 'invalid') {
      const why = `The TXT record _mta-sts.${domain} ${record.why}.`
      return { held: live, trouble: live ? null : { why, resultType: 'sts-policy-invalid' } }
    }
    if (record.kind === 'none' || live?.id === record.id) return { held: live, trouble: null }
    const failure = this.#failures.get(domain)
    if (failure?.id === record.id && now - failure.at < PAUSE && now >= failure.at)
      return { held: live, trouble: failure.trouble }
    return this.#renewOnce(domain, record.id, live)
  }

  async #remembered(domain: string): Promise<StoredStsPolicy | null> {
    let entry = this.#known.get(domain)
    if (!entry) {
      const { storage, clock } = this.#deps
      entry = { policy: (await storage.findStsPolicy({ domain }, clock.now())) ?? null }
      this.#known.set(domain, entry)
    }
    return entry.policy
  }

  /** Fetches a policy; merges concurrent fetches for a domain. */
  #renewOnce(domain: string, id: string, old: StoredStsPolicy | null): Promise<StsState> {
    const flying = this.#flights.get(domain)
    if (flying) return flying
    const flight = this.#renew(domain, id, old).finally(() => this.#flights.delete(domain))
    this.#flights.set(domain, flight)
    return flight
  }

  async #renew(domain: string, id: string, old: StoredStsPolicy | null): Promise<StsState> {
    const { storage, clock } = this.#deps
    const got = await fetchPolicy(domain, this.#deps)
    const now = clock.now()
    if ('why' in got) {
      this.#failures.set(domain, { id, trouble: got, at: now })
      return { held: old, trouble: got }
    }
    const { policy } = got
    const expiresAt = now + policy.maxAge * 1000
    const held = { domain, id, policy, checkedAt: now, usedAt: old?.usedAt ?? now, expiresAt }
    await storage.saveStsPolicy(held, now)
    this.#failures.delete(domain)
    this.#known.set(domain, { policy: held })
    return { held, trouble: null }
  }

  /** Records the use of a policy, at most once a day. */
  async #touch(held: StoredStsPolicy): Promise<void> {
    const now = this.#deps.clock.now()
    if (now - held.usedAt < DAY) return
    held.usedAt = now
    await this.#deps.storage.useStsPolicy({ domain: held.domain }, now)
  }
}

async function refreshOne(
  old: StoredStsPolicy,
  { resolver, storage, clock, log }: StsDeps,
  renew: (domain: string, id: string, old: StoredStsPolicy) => Promise<StsState>,
): Promise<void> {
  const { domain, expiresAt } = old
  const answer = await resolver.resolve(`_mta-sts.${domain}`, 'TXT')
  const record = answer.kind === 'found' ? parseStsRecord(answer.records) : { kind: 'none' as const }
  const { trouble } =
    record.kind === 'id'
      ? await renew(domain, record.id, old)
      : { trouble: { why: `The TXT record _mta-sts.${domain} was not found or could not be looked up.` } }
  if (!trouble) return
  // Check again tomorrow: until then, the policy applies or expires anyway.
  await storage.saveStsPolicy({ ...old, checkedAt: clock.now() }, clock.now())
  const until = new Date(expiresAt).toISOString()
  log.warn({ domain, until }, `could not refresh an MTA-STS policy in use: ${trouble.why}`)
}

/** Fetches and parses the policy file (RFC 8461 §3.2, §3.3). */
async function fetchPolicy(
  domain: string,
  { fetch, port }: StsDeps,
): Promise<Pick<StoredStsPolicy, 'policy'> | StsProblem> {
  const url = new URL(
    `https://mta-sts.${domain}${port === undefined ? '' : `:${port}`}/.well-known/mta-sts.txt`,
  )
  let bytes = 0
  const count = (more: number): void => {
    bytes += more
    if (bytes > MOST_BYTES) throw new TooLarge()
  }
  const fail = (why: string, resultType: StsProblem['resultType']): StsProblem => ({
    why: `The MTA-STS policy ${url.href} ${why}.`,
    resultType,
  })
  try {
    const fetched = await fetch(url, count, { redirects: 0 })
    if (fetched.kind === 'failed')
      return fail(fetched.note, fetched.certificate ? 'sts-webpki-invalid' : 'sts-policy-fetch-error')
    const type = fetched.contentType?.split(';', 1)[0]!.trim().toLowerCase()
    if (type !== 'text/plain') return fail('is not of type text/plain', 'sts-policy-invalid')
    const policy = parseStsPolicy(new TextDecoder('utf-8').decode(fetched.content))
    return typeof policy === 'string' ? fail(policy, 'sts-policy-invalid') : { policy }
  } catch (error) {
    if (error instanceof TooLarge)
      return fail(`is larger than ${MOST_BYTES / 1024} KiB`, 'sts-policy-invalid')
    throw error
  }
}
