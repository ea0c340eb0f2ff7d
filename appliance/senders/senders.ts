/** Who may send as whom: API keys, sending domains with their DKIM keys and verification, and suppressed addresses. */
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { refuse } from '../mail/refusals.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import type { Duties } from '../watch/duties.ts'
import { createSilentLogger, type Logger } from '../watch/log.ts'
import { createKeyMethods, type KeyMethods, type Caller } from './api-keys.ts'
import { maySend } from './verification-schedule.ts'
import { createDomainMethods, type DomainMethods } from './domains.ts'
import type { KeyGenerator } from './keys.ts'
import type { SendingHost } from './records.ts'
import { createSuppressionMethods, type SuppressionMethods } from './suppressions.ts'
import { createWatcher } from './watcher.ts'

export {
  createPropagationWatch,
  type Propagation,
  type PropagationWatch,
  type RecordPropagation,
} from './propagation.ts'
export { computeStatusLights } from './recommended.ts'
export { createErasures, type Erasures } from './erasures.ts'
export { POLICY_PATH, formatPolicyFile, getPolicyHost } from './mta-sts.ts'
export { createZoneBuilder } from './published-records.ts'
export { maySend } from './verification-schedule.ts'
export { createProviderRuleChecker, type ProviderRuleChecker, type RuleCompliance } from './provider-rules.ts'
export { createReturnPaths, type ReturnPaths } from './return-paths.ts'
export { type NewDomainArgs, type PublicKey } from './domains.ts'
export {
  type NamedPlan,
  type Plan,
  type Plans,
  createQuotas,
  computePeriodEnds,
  type PeriodEnds,
  type Quotas,
} from './quota.ts'
export type { SuppressionImport } from './suppression-import.ts'
export { createRateLimiter, type RateLimiter } from './rate-limit.ts'

export interface Senders extends KeyMethods, DomainMethods, SuppressionMethods {
  /**
   * Checks whether the caller may send from addresses at `domain` now. Only the exact name counts: a subdomain is a
   * domain of its own.
   * Refuses: `domain_unknown`, `domain_not_verified`, `domain_sending_disabled`, `key_restricted_to_domain`.
   */
  authorize(caller: Caller, args: { domain: string }): Promise<Domain>
  /** Starts background checks of domains. For the daemon only. */
  watch(): void
  /** Stops background work and writes pending data. */
  close(): Promise<void>
}

export interface SendersDeps {
  storage: Storage
  resolver: Resolver
  clock: Clock
  config: SendingHost
  log?: Logger
  /** Generates DKIM keys; replaced in tests for speed. */
  keygen?: KeyGenerator
  /** Returns a random number in [0, 1). */
  random?: () => number
  /** How often to look for verifications requested by other processes, in milliseconds. Default: one minute. */
  pollMs?: number
  /** Decides which node runs the background work. Default: this process is the only one. */
  duties?: Duties | undefined
}

export function createSenders(deps: SendersDeps): Senders {
  const { log = createSilentLogger(), random = Math.random, pollMs = 60_000 } = deps
  const watcher = createWatcher({ ...deps, log, random, pollMs })
  const keys = createKeyMethods(deps)
  const domains = createDomainMethods({ ...deps, random, wake: () => watcher.wake() })
  return {
    ...keys,
    ...domains,
    ...createSuppressionMethods(deps),

    // Reads the database each time: the command line may change it, and one indexed read is cheap.
    async authorize({ teamId, apiKey }, args) {
      const domain = await domains.findDomain({ teamId, name: args.domain })
      const only = apiKey?.domainId ?? null
      if (only !== null && only !== domain?.id)
        throw refuse('key_restricted_to_domain', { domain: args.domain })
      if (!domain) throw refuse('domain_unknown', { domain: args.domain })
      if (!maySend(domain.status)) throw refuse('domain_not_verified', { domain: domain.name })
      if (!domain.sending) throw refuse('domain_sending_disabled', { domain: domain.name })
      return domain
    },

    watch: () => watcher.start(),
    async close() {
      await watcher.stop()
      await keys.close()
    },
  }
}
