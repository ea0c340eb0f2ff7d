import { loadBounceRules, loadProviders, loadReceivers } from '../../../appliance/config/config.ts'
import { NO_REGIONS } from '../../../appliance/mail/region.ts'
import type { Receiver } from '../../../appliance/mail/receiver.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import {
  divideProportionally,
  getDefaultShares,
  simulate,
  type ServerState,
  type SimulationOptions,
  type SimulationResult,
} from '../../../appliance/simulation/simulation.ts'

/** A Thursday morning, long ago: IDs of the future would stay in the process of the tests. */
export const START = Date.parse('2024-11-28T08:00:00Z')

/** A server with the shipped tables, before its first start. */
export function present(change: Partial<ServerState> = {}): ServerState {
  return {
    hostname: 'mail.sender.test',
    sourceIps: [],
    sources: [],
    lanes: [],
    providerSettings: [],
    assignments: [],
    regions: NO_REGIONS,
    providers: loadProviders({ connections: 10 }),
    bounces: loadBounceRules(),
    maxConnections: 500,
    sender: null,
    ...change,
  }
}

/** A sending IP. */
export function source(change: Partial<Source>): Source {
  return {
    ip: '192.0.2.1',
    pool: 'default',
    hostname: null,
    state: 'active',
    stateReason: null,
    suspendedBy: null,
    warmUpSince: null,
    origin: 'operator',
    health: null,
    checkedAt: null,
    ...change,
  }
}

/** Sends `volume` emails, by default to all shipped receivers by their share. */
export function send(
  volume: number,
  change: Partial<SimulationOptions> = {},
  receivers: readonly Receiver[] = loadReceivers(),
): Promise<SimulationResult> {
  return simulate({
    present: present(),
    receivers,
    composition: divideProportionally(volume, getDefaultShares(receivers)),
    mailboxes: { unknown: 0.01, full: 0 },
    transactionalPerHour: 600,
    seed: 1,
    start: START,
    days: 30,
    ...change,
  })
}

/** Returns a shipped receiver, changed. */
export function receiver(id: string, change: Partial<Receiver> = {}): Receiver {
  const found = loadReceivers().find((one) => one.id === id)
  if (!found) throw new Error(`There is no receiver ${id}.`)
  return { ...found, ...change }
}
