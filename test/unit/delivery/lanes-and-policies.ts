import { loadProviders } from '../../../appliance/config/config.ts'
import type { AttemptDeps } from '../../../appliance/delivery/attempt.ts'
import { createTlsPolicies } from '../../../appliance/delivery/delivery.ts'
import { Lanes } from '../../../appliance/delivery/lanes.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import type { World } from '../../world/world.ts'

/** Lanes and TLS policies that nothing is stored for, for tests of attempts. */

export const auto: Source = {
  ip: 'auto',
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
}

/** Creates lanes without history. */
export function lanesFor(clock: World['clock']): Lanes {
  const storage = {
    saveLanes: async () => undefined,
    addLaneDays: async () => undefined,
    listLanes: async () => [],
    listProviderSettings: async () => [],
    listSources: async () => [],
  }
  const table = () => loadProviders({ connections: 10 })
  const given = { storage, clock, log: createSilentLogger(), table }
  return new Lanes({ ...given, fallback: [auto], random: () => 0 })
}

/** Creates policies that only use DNS. */
export function policiesFor(clock: World['clock'], resolver: AttemptDeps['resolver'], port: number) {
  const storage = {
    findStsPolicy: async () => undefined,
    saveStsPolicy: async () => undefined,
    useStsPolicy: async () => undefined,
    dueStsPolicies: async () => [],
    addTlsResults: async () => undefined,
  }
  const fetch = () => Promise.reject(new Error('nothing is fetched here'))
  const options = { trustAd: false, port }
  return createTlsPolicies({ resolver, storage, fetch, clock, log: createSilentLogger(), options })
}
