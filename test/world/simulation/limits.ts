import { loadConfig, loadProviders } from '../../../appliance/config/config.ts'
import {
  Providers,
  providerOf,
  type Exchanger,
  type Limits as LaneLimits,
} from '../../../appliance/shaping/shaping.ts'
import { PERSONALITIES } from './personalities.ts'
import { domainsOf, type Personality } from './personality.ts'
import { exchangers } from './receivers.ts'

/** A personality as the appliance's table of providers sees it. */
export interface KnownAs {
  /** Id of the provider. */
  provider: string
  limits: LaneLimits
  /** Whether the table has an entry for it. */
  listed: boolean
  /** Messages that a new source may send on its first, second, … day. */
  warmUp: readonly number[]
}

/** The shipped table. */
export function shippedProviders(): Providers {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return new Providers(loadProviders({ connections: loaded.config.delivery.max_connections_per_domain }))
}

/** What the shipped table (config/providers.toml) allows one source towards each personality, by its name. */
export function shippedLimits(): Map<string, KnownAs> {
  const providers = shippedProviders()
  return new Map(
    PERSONALITIES.filter(({ mx }) => mx.length > 0).map((personality) => {
      const provider = providerOf(hostsOf(personality), providers.table)
      const { limits, warmUp, origin } = providers.get(provider)
      return [personality.name, { provider, limits, listed: origin === 'table', warmUp }]
    }),
  )
}

function hostsOf(personality: Personality): Exchanger[] {
  const [domain] = domainsOf(personality)
  if (personality.dns === 'implicit') return [{ preference: 0, exchange: domain! }]
  return [exchangers(personality, domain!).MX!].flat()
}
