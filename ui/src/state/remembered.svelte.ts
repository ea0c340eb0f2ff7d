import { LANGUAGES, SNIPPET_PROTOCOLS, type SnippetProtocol } from './snippets.ts'
import type { Language } from './smtp-snippets.ts'

/** Preferences stored in this browser, independent of the account. */

function read<T>(name: string, fallback: T, allowed: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(`posthaste.${name}`) ?? 'null')
    return allowed(value) ? (value as T) : fallback
  } catch {
    // Storage is disabled, or the value isn't valid JSON.
    return fallback
  }
}

/** A preference with a `name`. `allowed` validates values that older versions stored. */
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
      // Storage is disabled or full, so the value lasts only until the page is closed.
    }
  }
}

export type Theme = 'system' | 'light' | 'dark'

const isBoolean = (value: unknown) => typeof value === 'boolean'

/** `public/theme.js` reads the same key before the first paint. */
export const theme = new Remembered<Theme>('theme', 'system', (value) =>
  ['system', 'light', 'dark'].includes(String(value)),
)
/** Whether the rail shows only icons. */
export const railFolded = new Remembered<boolean>('rail-folded', false, isBoolean)
/** Whether to show times in UTC instead of the browser's time zone. */
export const utc = new Remembered<boolean>('utc', false, isBoolean)

const isTexts = (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string')

/** Ids of teams whose setup is completed or dismissed. */
export const finishedSetupTeams = new Remembered<readonly string[]>('set-up-over', [], isTexts)

/** The language of code snippets. */
export const snippetLanguage = new Remembered<Language>('language', 'curl', (value) =>
  LANGUAGES.some(([known]) => known === value),
)

/** Whether code snippets use the API or SMTP. */
export const snippetProtocol = new Remembered<SnippetProtocol>('way', 'api', (value) =>
  SNIPPET_PROTOCOLS.some(([known]) => known === value),
)

/** Applies the theme to the document; "system" removes the attribute. */
export function applyTheme(chosen: Theme): void {
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
