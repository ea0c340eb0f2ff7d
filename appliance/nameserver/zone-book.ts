/** Keeps the zones that the server answers from, as storage has them. Every node reads them for itself. */
import { createHash } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import type { Logger } from '../watch/log.ts'
import { createWorker, type Worker } from '../watch/worker.ts'
import { buildZone, type ZoneData, type Zones } from './zone.ts'

export interface ZoneBookDeps {
  /** Reads what the zones contain. */
  read: () => Promise<Omit<ZoneData, 'serial'>[]>
  /** Returns the serial of zones whose content has this hash: all nodes get the same, and a higher one for a change. */
  serialOf: (digest: string) => Promise<number>
  clock: Clock
  log: Logger
  /** How often the zones are read, in milliseconds. Default 5000. */
  pollMs?: number | undefined
}

export interface ZoneBook extends Pick<Worker, 'start' | 'stop'> {
  zones: () => Zones
  /** Reads the zones now. */
  refresh(): Promise<void>
}

/** A new key is published for an hour before it signs, so that no node misses it. */
const POLL_MS = 5000

/** The book is empty, and the server refuses everything, until it is read for the first time. */
export function createZoneBook({ read, serialOf, clock, log, pollMs = POLL_MS }: ZoneBookDeps): ZoneBook {
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
  // The zones of the last time stay available while the storage doesn't answer.
  const trouble = 'could not read the zones of the DNS server; will retry'
  const worker = createWorker({ step, clock, log, pollMs, trouble })
  return { zones: () => zones, refresh, start: () => worker.start(), stop: () => worker.stop() }
}
