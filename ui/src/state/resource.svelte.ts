import { tick } from 'svelte'
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

/** Reads what `plan` says for as long as the calling component lives. */
export function resource<T>(plan: Plan<T>): Resource<T> {
  let data = $state.raw<T | undefined>()
  let error = $state<string | null>(null)
  let refused = $state(false)
  let round: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  async function read(key: string): Promise<void> {
    round?.abort()
    clearTimeout(timer)
    const mine = (round = new AbortController())
    try {
      const fresh = await (takeAhead<T>(key) ?? plan.load(mine.signal))
      if (mine.signal.aborted) return
      const first = data === undefined
      data = fresh
      error = null
      keep(key, fresh)
      if (first) void tick().then(restore)
    } catch (reason) {
      if (mine.signal.aborted) return
      error = reason instanceof Error ? reason.message : String(reason)
      refused = reason instanceof ApiError && LAST_WORDS.has(reason.status)
    }
    schedule(key)
  }

  function schedule(key: string): void {
    const wait = plan.every?.(data) ?? null
    if (wait !== null && !document.hidden) timer = setTimeout(() => void read(key), wait)
  }

  $effect(() => {
    const key = plan.key()
    data = key === null ? undefined : (memory.get(key) as T | undefined)
    error = null
    if (key === null) return
    void read(key)
    const stop = whenSeenAgain(() => {
      if (plan.every?.(data)) void read(key)
    })
    return () => {
      stop()
      clearTimeout(timer)
      round?.abort()
    }
  })

  return {
    get data() {
      return data
    },
    get error() {
      return error
    },
    get refused() {
      return error !== null && refused
    },
    async refresh() {
      const key = plan.key()
      if (key !== null) await read(key)
    },
  }
}
