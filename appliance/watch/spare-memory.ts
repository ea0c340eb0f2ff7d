/**
 * Returns memory to the system that a thread's heap retains after a burst or after startup. V8 collects garbage only
 * when it needs memory, which an idle thread doesn't. Each thread handles its own heap.
 */
import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const MEGABYTE = 2 ** 20

/** How often to check, in milliseconds. */
const LOOK_MS = 5000
/**
 * Minimum time between collections in milliseconds, because each stops the thread for 30 to 150 ms; and the minimum
 * amount of memory that makes a collection worthwhile, in bytes.
 */
const REST_MS = 10 * 60_000
const ENOUGH = 8 * MEGABYTE
/** The same values after a burst. */
const BURST_REST_MS = 60_000
const BURST = 64 * MEGABYTE
/** The share of busy time below which a thread counts as idle. */
const IDLE = 0.02

/** The state of a thread's heap. */
export interface HeapState {
  /** Share of the time since the last check in which the thread was busy, from 0 to 1. */
  busy: number
  /** Heap size in bytes. */
  held: number
  /** Heap size after the last collection; null before the first one. */
  heldThen: number | null
  /** Milliseconds since the last collection. */
  since: number
}

/** Whether a collection delays no one and is likely to free enough memory. */
export function shouldCollectGarbage({ busy, held, heldThen, since }: HeapState): boolean {
  if (busy > IDLE) return false
  if (heldThen === null) return true
  const more = held - heldThen
  return (since >= REST_MS && more >= ENOUGH) || (since >= BURST_REST_MS && more >= BURST)
}

/**
 * Number of collections after which V8 drops the bytecode of a function that wasn't called: V8's default, and the value
 * used here.
 */
const FORGOTTEN_AFTER = { usually: 6, now: 1 }

/**
 * Collects all garbage of this thread and shrinks its heap. About half of the bytecode belongs to functions that only
 * run at startup, so bytecode unused since the collection before last is dropped, too. It is compiled again when
 * needed.
 */
export function releaseMemory(): void {
  // The only way to get this function in Node: a context created after setting the flag has it.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined
  setFlagsFromString('--no-expose-gc')
  // Flags belong to the process, so another thread may have cleared this one at the same time. The next check retries.
  if (collect === undefined) return
  setFlagsFromString(`--bytecode-old-age=${FORGOTTEN_AFTER.now}`)
  collect({ type: 'major', execution: 'sync', flavor: 'regular' })
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString(`--bytecode-old-age=${FORGOTTEN_AFTER.usually}`)
}

/** Starts checking the heap of the calling thread, in real time. Returns a function that stops it. */
export function watchSpareMemory(lookMs = LOOK_MS): () => void {
  let seen: EventLoopUtilization = performance.eventLoopUtilization()
  let heldThen: number | null = null
  let collected = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const busy = performance.eventLoopUtilization(now, seen).utilization
    seen = now
    const held = getHeapStatistics().total_heap_size
    if (!shouldCollectGarbage({ busy, held, heldThen, since: performance.now() - collected })) return
    releaseMemory()
    collected = performance.now()
    heldThen = getHeapStatistics().total_heap_size
  }, lookMs).unref()
  return () => clearInterval(timer)
}
