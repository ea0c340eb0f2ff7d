/** Mailbox providers: recognizes them by mail exchangers, and returns their settings. Pure. */
import { isIP } from 'node:net'
import { getDomain } from 'tldts'
import { isProviderPlaceholder } from '../mail/queue.ts'
import { parseSettings, type Limits, type Settings } from './settings.ts'

/** A reply that pauses sending to a provider. */
export interface PauseRule {
  /** Matches the text of the reply, with lines joined by spaces. */
  text: RegExp | null
  /** Matches the enhanced status code. If `text` is given too, both must match. */
  enhanced: RegExp | null
  minutes: number
  /** Reduced limits after the pause. */
  slow: ReducedLimits | null
  /** What the reply means, in words that complete "Yahoo says that …". */
  says: string
}

/** Reduced limits for a limited time. */
export interface ReducedLimits {
  messagesPerMinute: number
  connections: number
  minutes: number
}

/** A provider in config/providers.toml. */
export interface ProviderEntry {
  id: string
  /** Display name. */
  name: string
  /** Host names of mail exchangers, or their parent domains. */
  mx: string[]
  settings: Partial<Settings>
  pauses: PauseRule[]
}

/** The content of config/providers.toml. */
export interface ProviderTable {
  /**
   * Applies to providers outside the table, and to settings that an entry omits. The default pause rules are checked
   * after the provider's own.
   */
  default: { settings: Settings; pauses: PauseRule[] }
  providers: ProviderEntry[]
}

/** A provider with its effective settings. */
export interface Provider {
  id: string
  name: string
  mx: string[]
  limits: Limits
  warmUp: number[]
  pauses: PauseRule[]
  /** The origin of the settings: the table or its default. */
  origin: 'table' | 'default'
  /** Names of the settings changed at run time. */
  changed: string[]
}

/** A mail exchanger's name and preference (RFC 5321 §5.1). */
export interface Exchanger {
  preference: number
  exchange: string
}

/** The id of the default entry, which applies to every provider outside the table. */
export const DEFAULT_PROVIDER = 'default'

/**
 * Determines the provider from a domain's best mail exchangers: the entry with the longest suffix that matches one of
 * them, otherwise the registrable domain of the alphabetically first one, so that the order of the DNS answer doesn't
 * matter.
 * @param hosts the hosts to try, with their preference; never empty
 */
export function determineProvider(hosts: readonly Exchanger[], table: ProviderTable): string {
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

/** Returns a host's registrable domain; an address literal or a name without one is returned unchanged. */
function ownProvider(name: string): string {
  if (name.startsWith('[') || isIP(name) !== 0) return name
  return getDomain(name) ?? name
}

/** Settings changed at run time, by provider, as stored. */
export type LiveSettings = ReadonlyMap<string, Record<string, unknown>>

/** The current providers: the table with run-time changes applied. */
export class Providers {
  readonly table: ProviderTable
  readonly #live: LiveSettings
  readonly #known = new Map<string, Provider>()

  constructor(table: ProviderTable, live: LiveSettings = new Map()) {
    this.table = table
    this.#live = live
  }

  /** Returns a provider by id: from the table, a registrable domain, `?example.com`, or `default`. */
  get(id: string): Provider {
    let known = this.#known.get(id)
    if (!known) {
      known = this.#make(id)
      // Limit the cache, because there are as many IDs outside the table as domains.
      if (this.#known.size >= 10_000) this.#known.clear()
      this.#known.set(id, known)
    }
    return known
  }

  /** Lists the table's providers and those with changed settings, the default first. */
  list(): Provider[] {
    const ids = [DEFAULT_PROVIDER, ...this.table.providers.map(({ id }) => id), ...this.#live.keys()]
    return [...new Set(ids)].map((id) => this.get(id))
  }

  #make(id: string): Provider {
    const entry = this.table.providers.find((one) => one.id === id)
    const { settings, pauses } = this.table.default
    const common = this.#set(DEFAULT_PROVIDER)
    const own = id === DEFAULT_PROVIDER ? {} : this.#set(id)
    // A run-time change for all providers doesn't override a provider's own settings in the table.
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
    return parseSettings(this.#live.get(id) ?? {}).settings
  }
}

/** Returns the display name of a provider outside the table. */
function nameOf(id: string): string {
  if (id === DEFAULT_PROVIDER) return 'every other provider'
  return isProviderPlaceholder(id) ? id.slice(1) : id
}
