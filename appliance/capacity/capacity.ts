/**
 * Tracks what clients use: connections, memory and disk for request bodies, turns for parsing that needs a lot of
 * memory, and requests without a key. Shared by all listeners, so that a client refused at one can't continue at
 * another.
 */
import { readFileSync } from 'node:fs'
import type { Clock } from '../clock/clock.ts'
import { createBudgets, type Budgets } from './budgets.ts'
import {
  createConnections,
  createKnownNetworks,
  createKnownSenders,
  type ConnectionFigures,
  type ConnectionLimits,
  type Connections,
} from './connections.ts'
import { createDiscardThrottle, type DiscardThrottle } from './discards.ts'
import { IncomingBody } from './incoming.ts'
import { createResponseChunker, type ResponseChunker } from './outgoing.ts'
import { createSlowTransferGuard, type SlowTransferGuard } from './pace.ts'
import { createMemoryShares, type Owner, type MemoryShares } from './byte-shares.ts'
import { createTurnThrottle, type TurnThrottle } from './loop-bytes.ts'
import { createMemoryScheduler, type MemoryScheduler } from './memory-turns.ts'

export { REFUSAL_DELAY_MS } from './budgets.ts'
export type { Budgets } from './budgets.ts'
export type { Connection, Connections } from './connections.ts'
export type { IncomingBody } from './incoming.ts'
export { createLoopQueue, createLoopLimiter } from './loop.ts'
export { CHUNK_SIZE } from './outgoing.ts'
export type { MemoryScheduler } from './memory-turns.ts'
export { createThreads, ThreadEndedError, type Threads } from './threads.ts'

const MB = 1024 * 1024

export interface CapacityOptions {
  clock: Clock
  /** Where bodies that are too large for memory are written. */
  folder: string
  /** Largest message in octets. */
  messageBytes: number
  http: ConnectionLimits
  smtp: ConnectionLimits
  /** Undefined without a DNS server. */
  dns?: ConnectionLimits | undefined
  freeBytes: () => Promise<number | null>
  leastFree: number
  /** Largest heap of the process in octets. */
  heapBytes: number
  /** Limit of open files of the process; null when unknown. */
  descriptors: number | null
}

export interface Capacity {
  http: Connections
  smtp: Connections
  /** DNS over TCP; undefined without a DNS server. */
  dns: Connections | undefined
  /** Starts to receive a body; call `discard` on it when it is no longer needed. */
  receive(owner: Owner): IncomingBody
  /** Limits what clients may request without a valid key or session. */
  budgets: Budgets
  /** Limits how fast the rest of refused requests is read. */
  discards: DiscardThrottle
  /** Generates the pages of downloads one at a time, round robin over teams. */
  downloads: MemoryScheduler
  /** Accounts for disk space that callers use for request bodies. */
  disk: Pick<MemoryShares, 'take' | 'give'>
  /** Sends large responses. */
  outgoing: ResponseChunker
  /** Ends transfers that are too slow. */
  pace: SlowTransferGuard
  /** Shares each turn of the event loop among the messages being received. */
  shifts: TurnThrottle
  /** Reserves memory for parsing whole messages. */
  turns: MemoryScheduler
  figures(): CapacityFigures
}

interface Used {
  used: number
  limit: number
  refused: number
}

export interface CapacityFigures {
  /** Requests and commands refused because their address exceeded its budget. */
  budgets: { refused: number }
  connections: { http: ConnectionFigures; smtp: ConnectionFigures; dns?: ConnectionFigures }
  /** Octets of unfinished bodies in memory and on disk, and of finished bodies being parsed. */
  octets: { memory: Used; disk: Used; reading: Used & { waiting: number } }
}

/** Memory for unfinished bodies. Small, because anything above a few hundred kilobytes goes to disk. */
const UNFINISHED = 64 * MB
/**
 * Finished bodies parsed at the same time, in multiples of the largest message. Parsing and composing a message needs
 * about six times its size.
 */
const READING = 4
/** Share of the heap for bodies being parsed. Each is in memory several times: as text, parsed, and as a message. */
const HEAP_SHARE = 0.15
/** Disk space for unfinished bodies of everyone and of one team, in multiples of the largest message. */
const ON_DISK = 64
const ON_DISK_TEAM = 16
/** Maximum number of one team's jobs that wait for memory, and maximum wait in milliseconds. */
const WAITING = 64
const WAIT_MS = 30_000
/** Maximum number of concurrent downloads of one team. */
const MOST_DOWNLOADS = 256
/** Share of the file descriptors that HTTP connections may use; the same again for SMTP. */
const DESCRIPTORS = 0.3

export function createCapacity(options: CapacityOptions): Capacity {
  const { clock, folder, messageBytes, freeBytes, leastFree, heapBytes, descriptors } = options
  const unfinished = Math.min(UNFINISHED, heapBytes * HEAP_SHARE)
  const memory = createMemoryShares({
    total: unfinished,
    team: unfinished / 4,
    strangers: unfinished / 4,
    perStranger: unfinished / 32,
  })
  const disk = createMemoryShares({
    total: ON_DISK * messageBytes,
    team: ON_DISK_TEAM * messageBytes,
    strangers: ON_DISK_TEAM * messageBytes,
    perStranger: messageBytes,
  })
  const reading = Math.max(messageBytes, Math.min(READING * messageBytes, heapBytes * HEAP_SHARE))
  const turns = createMemoryScheduler(clock, {
    total: reading,
    team: reading / 4,
    waiting: WAITING,
    waitMs: WAIT_MS,
  })
  const known = createKnownNetworks(clock)
  const within = (limits: ConnectionLimits): ConnectionLimits => fit(limits, descriptors)
  const http = createConnections(within(options.http), known)
  const smtp = createConnections(within(options.smtp), known, createKnownSenders(clock))
  const dns = options.dns && createConnections(within(options.dns), known)
  const budgets = createBudgets(clock, known)
  const incoming = { folder, memory, disk, freeBytes, leastFree }
  return {
    http,
    smtp,
    dns,
    budgets,
    discards: createDiscardThrottle(clock),
    disk,
    downloads: createMemoryScheduler(clock, { total: 1, team: 1, waiting: MOST_DOWNLOADS, waitMs: WAIT_MS }),
    outgoing: createResponseChunker(),
    receive: (owner) => new IncomingBody(incoming, owner),
    pace: createSlowTransferGuard(clock),
    shifts: createTurnThrottle(),
    turns,
    figures: () => ({
      budgets: budgets.figures(),
      connections: { http: http.figures(), smtp: smtp.figures(), ...(dns ? { dns: dns.figures() } : {}) },
      octets: { memory: memory.figures(), disk: disk.figures(), reading: turns.figures() },
    }),
  }
}

/**
 * Returns the limits unchanged if there are enough descriptors; otherwise lowers them, to leave some for the database,
 * delivery and the other listener.
 */
function fit(limits: ConnectionLimits, descriptors: number | null): ConnectionLimits {
  if (descriptors === null) return limits
  return { ...limits, total: Math.max(1, Math.min(limits.total, Math.floor(descriptors * DESCRIPTORS))) }
}

/** Returns the soft limit of open files (`RLIMIT_NOFILE`); null on systems without `/proc`. */
export function readDescriptorLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? null : Number(soft)
  } catch {
    return null // No /proc: the configured limits hold.
  }
}
