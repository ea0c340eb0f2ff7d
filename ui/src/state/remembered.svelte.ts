import { LANGUAGES, WAYS, type Way } from './snippets.ts'
import type { Language } from './smtp-snippets.ts'

/**
 * Preferences of this browser: they survive a reload, and belong to nobody's account.
 */

function read<T>(name: string, fallback: T, allowed: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(`posthaste.${name}`) ?? 'null')
    return allowed(value) ? (value as T) : fallback
  } catch {
    // Storage is off, or another version wrote something that is not JSON.
    return fallback
  }
}

/** A preference named `name`; `allowed` guards against what an older version may have stored. */
class Remembered<T> {
  #value: T = $state()!
  readonly #name: string

  constructor(name: string, fallback: T, allowed: (value: unknown) => boolean) {
    this.#name = name
    this.#value = read(name, fallback, allowed)
  }

  get value(): T {
    return this.#value
  }

  set value(value: T) {
    this.#value = value
    try {
      localStorage.setItem(`posthaste.${this.#name}`, JSON.stringify(value))
    } catch {
      // Storage is off or full: the choice holds until the page is left.
    }
  }
}

export type Theme = 'system' | 'light' | 'dark'

const isBoolean = (value: unknown) => typeof value === 'boolean'

/** `public/theme.js` reads the same key before the first paint. */
export const theme = new Remembered<Theme>('theme', 'system', (value) =>
  ['system', 'light', 'dark'].includes(String(value)),
)
/** Whether the rail shows icons only. */
export const railFolded = new Remembered<boolean>('rail-folded', false, isBoolean)
/** Whether exact instants are written in UTC instead of the browser's zone. */
export const utc = new Remembered<boolean>('utc', false, isBoolean)

const isTexts = (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Ids of the teams whose first run is done or dismissed. */
export const setUpOver = new Remembered<readonly string[]>('set-up-over', [], isTexts)

/** In which language examples are shown. */
export const language = new Remembered<Language>('language', 'curl', (value) =>
  LANGUAGES.some(([known]) => known === value),
)

/** Which door examples go through. */
export const way = new Remembered<Way>('way', 'api', (value) => WAYS.some(([known]) => known === value))

/** Puts the chosen theme on the document; the system's needs no attribute. */
export function showTheme(chosen: Theme): void {
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
