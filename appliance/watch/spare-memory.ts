/**
 * Gives memory back to the system that a thread's heap keeps after a burst, or after the start: V8 collects only when it
 * needs room, and an idle thread needs none. Each thread has a heap of its own and looks after it itself.
 */
import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const MEGABYTE = 2 ** 20

/** How often it is looked (milliseconds). */
const LOOK_MS = 5000
/** A collection stops the thread for 30 to 150 ms: not more often than this (milliseconds), and only for enough memory (bytes). */
const REST_MS = 10 * 60_000
const ENOUGH = 8 * MEGABYTE
/** The same after a burst. */
const BURST_REST_MS = 60_000
const BURST = 64 * MEGABYTE
/** The share of the time between two looks in which a thread that counts as idle did something. */
const IDLE = 0.02

/** What a thread's heap looks like now. */
export interface HeapLook {
  /** Share of the time since the last look in which the thread was busy, 0 to 1. */
  busy: number
  /** Bytes that the heap has of the system. */
  held: number
  /** Bytes that it had after the last collection; null before the first. */
  heldThen: number | null
  /** Milliseconds since the last collection. */
  since: number
}

/** Whether a collection would disturb nobody and is likely to be worth it. */
export function worthCollecting({ busy, held, heldThen, since }: HeapLook): boolean {
  if (busy > IDLE) return false
  if (heldThen === null) return true
  const more = held - heldThen
  return (since >= REST_MS && more >= ENOUGH) || (since >= BURST_REST_MS && more >= BURST)
}

/** After how many collections V8 forgets the bytecode of a function that was not called meanwhile: as a rule, and here. */
const FORGOTTEN_AFTER = { usually: 6, now: 1 }

/**
 * Collects all garbage of this thread, and gives back what the heap no longer needs. Half of the bytecode is of functions
 * that only the start calls: with it goes what the collection before the last did not see called. It is made again from the
 * source when it is needed.
 */
export function giveMemoryBack(): void {
  // Node has no other way to ask for it. A context that is made after the flag was set has the function.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  setFlagsFromString(`--bytecode-old-age=${FORGOTTEN_AFTER.now}`)
  collect({ type: 'major', execution: 'sync', flavor: 'regular' })
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString(`--bytecode-old-age=${FORGOTTEN_AFTER.usually}`)
}

/** Begins to look after the heap of the thread that calls it, by real time; returns how to stop. */
export function watchSpareMemory(lookMs = LOOK_MS): () => void {
  let seen: EventLoopUtilization = performance.eventLoopUtilization()
  let heldThen: number | null = null
  let collected = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const busy = performance.eventLoopUtilization(now, seen).utilization
    seen = now
    const held = getHeapStatistics().total_heap_size
    if (!worthCollecting({ busy, held, heldThen, since: performance.now() - collected })) return
    giveMemoryBack()
    collected = performance.now()
    heldThen = getHeapStatistics().total_heap_size
  }, lookMs).unref()
  return () => clearInterval(timer)
}
