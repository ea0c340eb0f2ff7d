/**
 * What a page will read, asked for together with its script: where somebody goes the first time, the data does not wait until the
 * script is there. The page takes it under the same key, once.
 */

/** An answer that is older when the page takes it is asked for anew: what happened meanwhile would be missing (milliseconds). */
const FRESH = 2000

interface Asked {
  at: number
  answer: Promise<unknown>
}

/** Something that a page will read, by the key that the page reads it under. */
export interface Read {
  key: string
  load: () => Promise<unknown>
}

let asked = new Map<string, Asked>()

/** Drops what was asked for and not taken. */
export const dropAhead = (): void => asked.clear()

/** Asks for what a page will read; what was asked for another page and not taken is dropped. */
export function readAhead(reads: readonly Read[]): void {
  asked = new Map()
  for (const { key, load } of reads) {
    const answer = load()
    // Whoever takes it hears of the failure; nobody else has to.
    answer.catch(() => undefined)
    asked.set(key, { at: performance.now(), answer })
  }
}

/** The answer that was asked for under this key, unless there is none or it may be old. */
export function takeAhead<T>(key: string): Promise<T> | undefined {
  const found = asked.get(key)
  asked.delete(key)
  return found && performance.now() - found.at < FRESH ? (found.answer as Promise<T>) : undefined
}
