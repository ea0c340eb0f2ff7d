/** Caches the zones that the server answers from; each node loads them from storage. */
import { createHash } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { buildZone, type ZoneData, type Zones } from './zone.ts'

export interface ZoneCacheDeps {
  /** Loads the content of the zones. */
  read: () => Promise<Omit<ZoneData, 'serial'>[]>
  /** Returns the serial of zones whose content has this hash: the same on all nodes, and higher after each change. */
  serialOf: (digest: string) => Promise<number>
  clock: Clock
  log: Logger
  /** How often the zones are loaded, in milliseconds. Default: 5000. */
  pollMs?: number | undefined
}

export interface ZoneCache extends Pick<Worker, 'start' | 'stop'> {
  zones: () => Zones
  /** Loads the zones now. */
  refresh(): Promise<void>
}

/**
 * Default polling interval, in milliseconds. A new key is published for an hour before it signs, so every node has
 * loaded it by then.
 */
const POLL_MS = 5000

/** Until the zones are loaded for the first time, there are none and the server refuses every query. */
export function createZoneCache({ read, serialOf, clock, log, pollMs = POLL_MS }: ZoneCacheDeps): ZoneCache {
  let zones: Zones = new Map()
  let current = ''
  const refresh = async (): Promise<void> => {
    const all = await read()
    const digest = createHash('sha256').update(JSON.stringify(all)).digest('hex')
    if (digest === current) return
    const serial = await serialOf(digest)
    zones = new Map(all.map((data) => [data.apex, buildZone({ ...data, serial })]))
    current = digest
  }
  const step = async (): Promise<boolean> => {
    await refresh()
    return false
  }
  // While storage is unavailable, the zones from the last load remain in use.
  const trouble = 'could not read the zones of the DNS server; will retry'
  const worker = createWorker({ step, clock, log, pollMs, trouble })
  return { zones: () => zones, refresh, start: () => worker.start(), stop: () => worker.stop() }
}
