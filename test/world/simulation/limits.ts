import { loadConfig, loadProviders } from '../../../appliance/config/config.ts'
import {
  Providers,
  determineProvider,
  type Exchanger,
  type Limits as LaneLimits,
} from '../../../appliance/shaping/shaping.ts'
import { PERSONALITIES } from './personalities.ts'
import { domainsOf, type Personality } from './personality.ts'
import { exchangers } from './receivers.ts'

/** How the appliance's provider table classifies a personality. */
export interface KnownAs {
  /** The provider's ID. */
  provider: string
  limits: LaneLimits
  /** Whether the table has an entry for it. */
  listed: boolean
  /** Messages a new source may send on its first day, second day, and so on. */
  warmUp: readonly number[]
}

/** Loads the shipped provider table. */
export function shippedProviders(): Providers {
  const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test' }, defaultFile: '/nonexistent' })
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return new Providers(loadProviders({ connections: loaded.config.delivery.max_connections_per_domain }))
}

/** Returns, by personality name, what the shipped table (config/providers.toml) allows one source. */
export function shippedLimits(): Map<string, KnownAs> {
  const providers = shippedProviders()
  return new Map(
    PERSONALITIES.filter(({ mx }) => mx.length > 0).map((personality) => {
      const provider = determineProvider(hostsOf(personality), providers.table)
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
