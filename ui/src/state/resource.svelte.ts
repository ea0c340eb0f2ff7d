import { tick, untrack } from 'svelte'
import { ApiError } from '../api/client.ts'
import { clearPreloadedData, takePreloaded } from './preload.ts'
import { restoreScroll } from './router.svelte.ts'

/** Data from the server, shown from a cache first, then kept up to date. */

/** Number of cached resources, enough for "Back" to be instant. */
const REMEMBERED = 60
/** HTTP statuses for which a retry is pointless (RFC 9110 §15.5.4, §15.5.5, §15.5.11). */
const LAST_WORDS: ReadonlySet<number> = new Set([403, 404, 410])
const memory = new Map<string, unknown>()

const forgetful = [() => memory.clear(), clearPreloadedData]

/** Registers `act` to run when all cached data is dropped. */
export const onCacheClear = (act: () => void): void => void forgetful.push(act)

/** Drops all cached data, at the end of a session. */
export const clearCache = () => forgetful.forEach((act) => act())

function keep(key: string, value: unknown): void {
  memory.delete(key)
  memory.set(key, value)
  const oldest = memory.size > REMEMBERED ? memory.keys().next().value : undefined
  if (oldest !== undefined) memory.delete(oldest)
}

/** Data from the server. `data` is kept while it reloads; `error` describes only the last request. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly error: string | null
  /** Whether a retry is pointless (403, 404, 410). */
  readonly refused: boolean
  /** Reloads the data now. Resolves after success or failure. */
  refresh(): Promise<void>
}

interface Plan<T> {
  /** Returns the cache key of the data. When it changes, the new data is loaded; null loads nothing. */
  key: () => string | null
  load: (signal: AbortSignal) => Promise<T>
  /** Returns the milliseconds until the next reload while the tab is visible; null for never. */
  every?: (data: T | undefined) => number | null
}

/** Calls `act` each time the tab becomes visible. Returns a function that stops it. */
function whenSeenAgain(act: () => void): () => void {
  const changed = () => {
    if (!document.hidden) act()
  }
  document.addEventListener('visibilitychange', changed)
  return () => document.removeEventListener('visibilitychange', changed)
}

/**
 * Loads the resource while the calling component exists. Loading starts immediately, so declare everything that `key`
 * and `load` use before this call.
 */
export function resource<T>(plan: Plan<T>): Resource<T> {
  const reading = new Reading(plan)
  // Start before the first render, so that it already shows cached data.
  let begun: { key: string | null } | null = { key: untrack(plan.key) }
  reading.begin(begun.key)
  $effect(() => {
    const key = plan.key()
    if (key !== begun?.key) untrack(() => reading.begin(key))
    begun = null
    const stop = key === null ? undefined : whenSeenAgain(() => reading.seenAgain(key))
    return () => {
      stop?.()
      reading.end()
    }
  })
  return reading
}

class Reading<T> implements Resource<T> {
  readonly #plan: Plan<T>
  #data = $state.raw<T | undefined>()
  #error = $state<string | null>(null)
  #refused = $state(false)
  #round: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(plan: Plan<T>) {
    this.#plan = plan
  }

  begin(key: string | null): void {
    this.#data = key === null ? undefined : (memory.get(key) as T | undefined)
    this.#error = null
    if (key !== null) void this.#read(key)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#round?.abort()
  }

  seenAgain(key: string): void {
    if (this.#plan.every?.(this.#data)) void this.#read(key)
  }

  get data() {
    return this.#data
  }
  get error() {
    return this.#error
  }
  get refused() {
    return this.#error !== null && this.#refused
  }

  async refresh(): Promise<void> {
    const key = this.#plan.key()
    if (key !== null) await this.#read(key)
  }

  async #read(key: string): Promise<void> {
    this.end()
    const mine = (this.#round = new AbortController())
    try {
      const fresh = await (takePreloaded<T>(key) ?? this.#plan.load(mine.signal))
      if (mine.signal.aborted) return
      const first = this.#data === undefined
      this.#data = fresh
      this.#error = null
      keep(key, fresh)
      if (first) void tick().then(restoreScroll)
    } catch (reason) {
      if (mine.signal.aborted) return
      this.#error = reason instanceof Error ? reason.message : String(reason)
      this.#refused = reason instanceof ApiError && LAST_WORDS.has(reason.status)
    }
    this.#schedule(key)
  }

  #schedule(key: string): void {
    const wait = this.#plan.every?.(this.#data) ?? null
    if (wait !== null && !document.hidden) this.#timer = setTimeout(() => void this.#read(key), wait)
  }
}
