/**
 * Preloads the data of a page that someone is about to open. It loads in parallel with the page's script. The page uses
 * it once, under the same key.
 */

/** Maximum age in milliseconds. Older data is requested again, because it may lack recent changes. */
const FRESH = 2000

interface Asked {
  at: number
  answer: Promise<unknown>
}

/** A request that a page will make, with its cache key. */
export interface Read {
  key: string
  load: () => Promise<unknown>
}

const asked = new Map<string, Asked>()

/** Drops all preloaded data. */
export const dropAhead = (): void => asked.clear()

const isFresh = ({ at }: Asked): boolean => performance.now() - at < FRESH

function ask({ key, load }: Read): void {
  const one = { at: performance.now(), answer: load() }
  asked.set(key, one)
  // A caller that took the response handles the error. Otherwise, drop the request, and let the page request the data
  // itself.
  one.answer.catch(() => asked.get(key) === one && asked.delete(key))
}

/** Preloads data, unless it is already loading or fresh. Drops outdated data. */
export function readAhead(reads: readonly Read[]): void {
  for (const [key, one] of asked) if (!isFresh(one)) asked.delete(key)
  for (const read of reads) if (!asked.has(read.key)) ask(read)
}

/** Returns the preloaded response for a key; undefined if there is none or it is outdated. */
export function takePreloaded<T>(key: string): Promise<T> | undefined {
  const found = asked.get(key)
  asked.delete(key)
  return found && isFresh(found) ? (found.answer as Promise<T>) : undefined
}
