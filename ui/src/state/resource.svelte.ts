import { tick, untrack } from 'svelte'
import { ApiError } from '../api/client.ts'
import { dropAhead, takeAhead } from './ahead.ts'
import { restore } from './router.svelte.ts'

/**
 * Something read from the appliance, shown at once from memory when it was seen before, and kept fresh.
 */

/** Enough for Back to be instant through a long walk. */
const REMEMBERED = 60
/** HTTP statuses of what is forbidden, not there, and gone (RFC 9110 §15.5.4, §15.5.5, §15.5.11). */
const LAST_WORDS: ReadonlySet<number> = new Set([403, 404, 410])
const memory = new Map<string, unknown>()

const forgetful = [() => memory.clear(), dropAhead]

/** Has `act` called too when everything that was read is dropped. */
export const alsoForget = (act: () => void): void => void forgetful.push(act)

/** Drops everything that was read: at the end of a session. */
export const forget = () => forgetful.forEach((act) => act())

function keep(key: string, value: unknown): void {
  memory.delete(key)
  memory.set(key, value)
  const oldest = memory.size > REMEMBERED ? memory.keys().next().value : undefined
  if (oldest !== undefined) memory.delete(oldest)
}

/** One readable thing: `data` stays while it is read anew; `error` tells of the last attempt only. */
export interface Resource<T> {
  readonly data: T | undefined
  readonly error: string | null
  /** Whether that was the appliance's last word: asking again changes nothing (403, 404, 410). */
  readonly refused: boolean
  /** Reads again now. Resolves when the answer is in, whether good or bad. */
  refresh(): Promise<void>
}

interface Plan<T> {
  /** What is read; a change reads the new one. Null reads nothing. */
  key: () => string | null
  load: (signal: AbortSignal) => Promise<T>
  /** Milliseconds until it is read again while the tab is visible; null for never. */
  every?: (data: T | undefined) => number | null
}

/** Calls `act` each time the tab comes to the front. Returns how to stop that. */
function whenSeenAgain(act: () => void): () => void {
  const changed = () => {
    if (!document.hidden) act()
  }
  document.addEventListener('visibilitychange', changed)
  return () => document.removeEventListener('visibilitychange', changed)
}

/** Reads what `plan` says for as long as the calling component lives, and at once: what its key and its load use stands above. */
export function resource<T>(plan: Plan<T>): Resource<T> {
  const reading = new Reading(plan)
  // Before the page is drawn: what is remembered is in the first drawing, and the answer comes meanwhile.
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
      const fresh = await (takeAhead<T>(key) ?? this.#plan.load(mine.signal))
      if (mine.signal.aborted) return
      const first = this.#data === undefined
      this.#data = fresh
      this.#error = null
      keep(key, fresh)
      if (first) void tick().then(restore)
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
