/** Mailbox providers: who is behind a set of mail exchangers, and what they are given. Pure. */
import { isIP } from 'node:net'
import { getDomain } from 'tldts'
import { isUnplaced } from '../mail/queue.ts'
import { readSettings, type Limits, type Settings } from './settings.ts'

/** A reply after which a provider is left alone for a while. */
export interface PauseRule {
  /** Found in the text of the reply, its lines joined by spaces. */
  text: RegExp | null
  /** Fits the enhanced status code. With both, both must fit. */
  enhanced: RegExp | null
  minutes: number
  /** How the lane goes on after the pause. */
  slow: Slow | null
  /** What the reply is about, in words that complete "Yahoo says that …". */
  says: string
}

/** Narrow limits for a while. */
export interface Slow {
  messagesPerMinute: number
  connections: number
  minutes: number
}

/** A provider of config/providers.toml. */
export interface ProviderEntry {
  id: string
  /** For people. */
  name: string
  /** Names of hosts, or the domains above them. */
  mx: string[]
  settings: Partial<Settings>
  pauses: PauseRule[]
}

/** The whole of config/providers.toml. */
export interface ProviderTable {
  /** For providers that are not in the table, and for what an entry leaves out. Its pauses are looked for after the provider's own. */
  default: { settings: Settings; pauses: PauseRule[] }
  providers: ProviderEntry[]
}

/** A provider with all that holds for it now. */
export interface Provider {
  id: string
  name: string
  mx: string[]
  limits: Limits
  warmUp: number[]
  pauses: PauseRule[]
  /** Where the settings come from: the table, its default, or somebody's hand. */
  origin: 'table' | 'default'
  /** Names of what was set live. */
  changed: string[]
}

/** A mail exchanger's name and preference. */
export interface Exchanger {
  preference: number
  exchange: string
}

/** The id of the default entry, whose settings every provider outside the table has. */
export const DEFAULT_PROVIDER = 'default'

/**
 * The provider behind the best exchangers of a domain: the entry with the longest suffix that fits one of them, else the
 * registrable domain of the first of them by name, so that the answer's order does not matter.
 * @param hosts the hosts to try, with their preference; never empty
 */
export function providerOf(hosts: readonly Exchanger[], table: ProviderTable): string {
  const best = Math.min(...hosts.map(({ preference }) => preference))
  const names = hosts
    .filter(({ preference }) => preference === best)
    .map(({ exchange }) => exchange.toLowerCase().replace(/\.$/, ''))
    .sort()
  const fits = table.providers.flatMap(({ id, mx }) =>
    mx.filter((suffix) => names.some((name) => isBelow(name, suffix))).map((suffix) => ({ id, suffix })),
  )
  const [longest] = fits.sort((a, b) => b.suffix.length - a.suffix.length || (a.id < b.id ? -1 : 1))
  return longest?.id ?? ownProvider(names[0]!)
}

const isBelow = (name: string, suffix: string): boolean => name === suffix || name.endsWith(`.${suffix}`)

/** A host on its own: its registrable domain; an address literal and a name that is nobody's stand for themselves. */
function ownProvider(name: string): string {
  if (name.startsWith('[') || isIP(name) !== 0) return name
  return getDomain(name) ?? name
}

/** What is set live, by provider, as storage has it. */
export type LiveSettings = ReadonlyMap<string, Record<string, unknown>>

/** The providers as they are now: the table and what was set live over it. */
export class Providers {
  readonly table: ProviderTable
  readonly #live: LiveSettings
  readonly #known = new Map<string, Provider>()

  constructor(table: ProviderTable, live: LiveSettings = new Map()) {
    this.table = table
    this.#live = live
  }

  /** Of any id: of the table, a registrable domain, `?example.com`, or `default`. */
  get(id: string): Provider {
    let known = this.#known.get(id)
    if (!known) {
      known = this.#make(id)
      // Ids of no table are as many as there are domains.
      if (this.#known.size >= 10_000) this.#known.clear()
      this.#known.set(id, known)
    }
    return known
  }

  /** Those of the table and those that somebody set something for, the default first. */
  list(): Provider[] {
    const ids = [DEFAULT_PROVIDER, ...this.table.providers.map(({ id }) => id), ...this.#live.keys()]
    return [...new Set(ids)].map((id) => this.get(id))
  }

  #make(id: string): Provider {
    const entry = this.table.providers.find((one) => one.id === id)
    const { settings, pauses } = this.table.default
    const common = this.#set(DEFAULT_PROVIDER)
    const own = id === DEFAULT_PROVIDER ? {} : this.#set(id)
    // What somebody set for all does not loosen or tighten what the table says of one.
    const { warmUp, ...limits } = { ...settings, ...common, ...entry?.settings, ...own }
    return {
      id,
      name: entry?.name ?? nameOf(id),
      mx: entry?.mx ?? [],
      limits,
      warmUp,
      pauses: [...(entry?.pauses ?? []), ...pauses],
      origin: entry ? 'table' : 'default',
      changed: Object.keys(this.#live.get(id) ?? {}),
    }
  }

  #set(id: string): Partial<Settings> {
    return readSettings(this.#live.get(id) ?? {}).settings
  }
}

/** What people call a provider outside the table. */
function nameOf(id: string): string {
  if (id === DEFAULT_PROVIDER) return 'every other provider'
  return isUnplaced(id) ? id.slice(1) : id
}
