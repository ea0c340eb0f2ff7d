import { tick, untrack } from 'svelte'
import { searchEmails, type EmailSearch, type FoundEmail } from '../api/emails.ts'
import { takePreloaded } from './preload.ts'
import {
  appendChunk,
  prependRows,
  MAX_ROWS,
  CHUNK_ROWS,
  findRowIndex,
  refreshRows,
  findRow,
  type LoadedRows,
} from './email-rows.ts'
import type { EmailConditions } from '../../../appliance/api/email-search.ts'
import { onCacheClear } from './resource.svelte.ts'
import { restoreScroll } from './router.svelte.ts'

/** Number of cached lists, so that "Back" returns to the same row. */
const REMEMBERED = 8
/** Age in milliseconds up to which emails are refreshed by events. Older emails are requested by ID. */
const RECENT = 3_600_000
/** Maximum number of older emails requested at a time. */
const MOST_CHANGED = 10

const memory = new Map<string, LoadedRows>()
onCacheClear(() => memory.clear())

function keep(key: string, loaded: LoadedRows): void {
  memory.delete(key)
  memory.set(key, loaded)
  const oldest = memory.size > REMEMBERED ? memory.keys().next().value : undefined
  if (oldest !== undefined) memory.delete(oldest)
}

export interface EmailList {
  readonly rows: readonly FoundEmail[]
  /** Whether the first chunk has loaded. */
  readonly loaded: boolean
  readonly busy: boolean
  /** Whether more rows can be loaded. */
  readonly more: boolean
  /**
   * Time at which the last email of the list was accepted (API timestamp), if the list has reached its maximum length
   * and more emails match; otherwise null.
   */
  readonly cutAt: string | null
  readonly lookedBackTo: string | null
  /** The number of new emails that `show` adds at the top. */
  readonly waiting: number
  readonly error: string | null
  /** Loads the next chunk. */
  load(): Promise<void>
  /** Loads new rows, and updates the rows with these IDs. `hold`: whether to keep new rows hidden for now. */
  refresh(ids: ReadonlySet<string>, hold: boolean): Promise<void>
  show(): void
}

interface Plan {
  /** Returns the key that identifies the list. */
  key: () => string
  /** Returns the search conditions; null to search for nothing. */
  conditions: () => EmailConditions | null
  now: () => number
}

/** Lists the emails of a search, chunk by chunk, while the calling component exists. */
export function createEmailList(plan: Plan): EmailList {
  const list = new List(plan)
  // Start before the first render, so that it already shows cached rows.
  let begun: string | null = untrack(plan.key)
  list.begin(begun)
  $effect(() => {
    const key = plan.key()
    if (key !== begun) untrack(() => list.begin(key))
    begun = null
    return () => list.end()
  })
  return list
}

class List implements EmailList {
  readonly #plan: Plan
  #list = $state.raw<LoadedRows | null>(null)
  /** The list including new rows that aren't shown yet. */
  #held = $state.raw<LoadedRows | null>(null)
  #error = $state<string | null>(null)
  #busy = $state(false)
  #round = new AbortController()

  constructor(plan: Plan) {
    this.#plan = plan
  }

  begin(key: string): void {
    this.#round = new AbortController()
    this.#list = memory.get(key) ?? null
    this.#held = null
    this.#error = null
    this.#busy = false
    if (this.#list === null) void this.load()
    else {
      void tick().then(restoreScroll)
      void this.refresh(new Set(), true)
    }
  }

  end(): void {
    this.#round.abort()
  }

  get rows() {
    return this.#list?.rows ?? []
  }
  get loaded() {
    return this.#list !== null
  }
  get busy() {
    return this.#busy
  }
  get more() {
    return this.#list !== null && this.#list.next !== null && this.rows.length < MAX_ROWS
  }
  get cutAt() {
    const cut = this.#list !== null && this.#list.next !== null && !this.more
    return cut ? (this.rows.at(-1)?.created_at ?? null) : null
  }
  get lookedBackTo() {
    return this.#list?.lookedBackTo ?? null
  }
  get error() {
    return this.#error
  }
  get waiting() {
    const first = this.#list?.rows[0]?.id
    return this.#held && first !== undefined ? findRowIndex(this.#held.rows, first) : 0
  }

  async load(): Promise<void> {
    const conditions = this.#plan.conditions()
    if (this.#busy || conditions === null || (this.#list !== null && !this.more)) return
    this.#busy = true
    const mine = this.#round
    await this.#attempt(async (signal) => {
      const next = this.#list?.next ?? null
      const ahead = this.#list === null ? this.#ahead() : undefined
      const part = await (ahead ?? searchEmails(conditions, next, CHUNK_ROWS, signal))
      if (!signal.aborted) this.#set(appendChunk(this.#list?.rows ?? [], part))
    })
    if (mine === this.#round) this.#busy = false
  }

  async refresh(ids: ReadonlySet<string>, hold: boolean): Promise<void> {
    const conditions = this.#plan.conditions()
    if (this.#busy || conditions === null || this.#list === null) return
    const floor = new Date(this.#plan.now() - RECENT).toISOString()
    const since = conditions.since !== undefined && conditions.since > floor ? conditions.since : floor
    await this.#attempt(async (signal) => {
      const fresh = await (this.#ahead() ?? searchEmails({ ...conditions, since }, null, CHUNK_ROWS, signal))
      const changed = await this.#changed(ids, fresh, signal)
      if (signal.aborted || this.#list === null) return
      const known = { ...this.#list, rows: refreshRows(this.#list.rows, [...fresh.data, ...changed]) }
      const all = prependRows(known, fresh)
      const wait = hold && known.rows.length > 0 && all.rows[0]?.id !== known.rows[0]?.id
      this.#set(wait ? known : all)
      this.#held = wait ? all : null
    })
  }

  /** Returns the preloaded newest rows, if any. */
  #ahead(): Promise<EmailSearch> | undefined {
    return takePreloaded<EmailSearch>(`emails ${this.#plan.key()}`)
  }

  show(): void {
    if (this.#held) this.#set(this.#held)
    this.#held = null
  }

  /** Returns updated rows for those of these IDs that are older than the refreshed chunk. */
  async #changed(ids: ReadonlySet<string>, fresh: EmailSearch, signal: AbortSignal): Promise<FoundEmail[]> {
    const seen = new Set(fresh.data.map(({ id }) => id))
    const older = [...ids].filter((id) => !seen.has(id) && findRow(this.rows, id)).slice(0, MOST_CHANGED)
    const answers = await Promise.all(older.map((id) => searchEmails({ id }, null, 1, signal)))
    return answers.flatMap(({ data }) => data)
  }

  #set(loaded: LoadedRows): void {
    const first = this.#list === null
    this.#list = loaded
    keep(this.#plan.key(), loaded)
    if (first) void tick().then(restoreScroll)
  }

  async #attempt(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#round
    try {
      await work(signal)
      if (!signal.aborted) this.#error = null
    } catch (reason) {
      if (!signal.aborted) this.#error = reason instanceof Error ? reason.message : String(reason)
    }
  }
}
