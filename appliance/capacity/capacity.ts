/**
 * One account of what clients may use at once: connections, memory and disk for what they send, turns for what costs a lot of
 * memory to read, and how much they may ask without a key. All listeners share it, so that nobody takes at one what is refused at another.
 */
import { readFileSync } from 'node:fs'
import type { Clock } from '../clock/clock.ts'
import { createBudgets, type Budgets } from './budgets.ts'
import {
  createConnections,
  createKnownNetworks,
  type ConnectionFigures,
  type ConnectionLimits,
  type Connections,
} from './connections.ts'
import { createDiscards, type Discards } from './discards.ts'
import { Incoming } from './incoming.ts'
import { createOutgoing, type Outgoing } from './outgoing.ts'
import { createPace, type Pace } from './pace.ts'
import { createShares, type Owner, type Shares } from './shares.ts'
import { createShifts, type Shifts } from './shifts.ts'
import { createTurns, type Turns } from './turns.ts'

export { HOLD_MS } from './budgets.ts'
export type { Budgets } from './budgets.ts'
export type { Connection, Connections } from './connections.ts'
export type { Incoming } from './incoming.ts'
export { createLoopLine, createLoopShare } from './loop.ts'
export { PIECE } from './outgoing.ts'
export type { Turns } from './turns.ts'
export { createThreads, ThreadEnded, type Threads } from './threads.ts'

const MB = 1024 * 1024

export interface CapacityOptions {
  clock: Clock
  /** Where bodies that are too large for memory go. */
  folder: string
  /** Largest message in octets. */
  messageBytes: number
  http: ConnectionLimits
  smtp: ConnectionLimits
  freeBytes: () => Promise<number | null>
  leastFree: number
  /** Largest heap of the process in octets. */
  heapBytes: number
  /** Open files that the process may have; null where nobody knows. */
  descriptors: number | null
}

export interface Capacity {
  http: Connections
  smtp: Connections
  /** Begins to take in a body; `discard` it when it is no longer needed. */
  receive(owner: Owner): Incoming
  /** What clients may ask without a valid key or session. */
  budgets: Budgets
  /** For the rest of requests that were refused. */
  discards: Discards
  /** Whose turn it is to have a page of a download written: one at a time. */
  downloads: Turns
  /** Disk for what is being sent, where the caller writes it. */
  disk: Pick<Shares, 'take' | 'give'>
  /** Gives out large answers. */
  outgoing: Outgoing
  /** Ends transfers that are too slow. */
  pace: Pace
  /** For messages as they come in: shares out each turn of the event loop. */
  shifts: Shifts
  /** For reading what was received: takes memory for whole messages. */
  turns: Turns
  figures(): CapacityFigures
}

interface Used {
  used: number
  limit: number
  refused: number
}

export interface CapacityFigures {
  /** Requests and commands beyond the budget of their address. */
  budgets: { refused: number }
  connections: { http: ConnectionFigures; smtp: ConnectionFigures }
  /** Octets of unfinished bodies in memory and on disk, and of finished ones that are being read. */
  octets: { memory: Used; disk: Used; reading: Used & { waiting: number } }
}

/** Memory for unfinished bodies: small, because what is larger than a few hundred kilobytes goes to disk. */
const UNFINISHED = 64 * MB
/** Finished bodies that are read at once, in units of the largest: parsing and composing take about six times as much. */
const READING = 4
/** The part of the heap that they may be: as text, parsed, and as a message each is there again. */
const HEAP_SHARE = 0.15
/** Unfinished bodies on disk, in units of the largest, of everybody and of one team. */
const ON_DISK = 64
const ON_DISK_TEAM = 16
/** Jobs of one team that wait for memory, and how long (milliseconds). */
const WAITING = 64
const WAIT_MS = 30_000
/** Downloads of one team at once. */
const MOST_DOWNLOADS = 256
/** The share of all descriptors that the connections of HTTP, and those of SMTP, may take. */
const DESCRIPTORS = 0.3

export function createCapacity(options: CapacityOptions): Capacity {
  const { clock, folder, messageBytes, freeBytes, leastFree, heapBytes, descriptors } = options
  const unfinished = Math.min(UNFINISHED, heapBytes * HEAP_SHARE)
  const memory = createShares({
    total: unfinished,
    team: unfinished / 4,
    strangers: unfinished / 4,
    perStranger: unfinished / 32,
  })
  const disk = createShares({
    total: ON_DISK * messageBytes,
    team: ON_DISK_TEAM * messageBytes,
    strangers: ON_DISK_TEAM * messageBytes,
    perStranger: messageBytes,
  })
  const reading = Math.max(messageBytes, Math.min(READING * messageBytes, heapBytes * HEAP_SHARE))
  const turns = createTurns(clock, { total: reading, team: reading / 4, waiting: WAITING, waitMs: WAIT_MS })
  const known = createKnownNetworks(clock)
  const within = (limits: ConnectionLimits): ConnectionLimits => fit(limits, descriptors)
  const http = createConnections(within(options.http), known)
  const smtp = createConnections(within(options.smtp), known)
  const budgets = createBudgets(clock, known)
  const incoming = { folder, memory, disk, freeBytes, leastFree }
  return {
    http,
    smtp,
    budgets,
    discards: createDiscards(clock),
    disk,
    downloads: createTurns(clock, { total: 1, team: 1, waiting: MOST_DOWNLOADS, waitMs: WAIT_MS }),
    outgoing: createOutgoing(),
    receive: (owner) => new Incoming(incoming, owner),
    pace: createPace(clock),
    shifts: createShifts(),
    turns,
    figures: () => ({
      budgets: budgets.figures(),
      connections: { http: http.figures(), smtp: smtp.figures() },
      octets: { memory: memory.figures(), disk: disk.figures(), reading: turns.figures() },
    }),
  }
}

/** The same limits where there are descriptors enough; else as many as leave some for the database, delivery and the other listener. */
function fit(limits: ConnectionLimits, descriptors: number | null): ConnectionLimits {
  if (descriptors === null) return limits
  return { ...limits, total: Math.max(1, Math.min(limits.total, Math.floor(descriptors * DESCRIPTORS))) }
}

/** The soft limit of open files (`RLIMIT_NOFILE`); null on systems without `/proc`. */
export function descriptorLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? null : Number(soft)
  } catch {
    return null // No /proc: the configured limits hold.
  }
}
