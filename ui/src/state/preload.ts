/**
 * Preloads the data of a page that someone is about to open, in parallel with the page's script. The page uses the data
 * once, under the same key.
 */

/** Maximum age of preloaded data in milliseconds. Older data is requested again, because it may lack recent changes. */
const FRESH = 2000

interface Asked {
  at: number
  answer: Promise<unknown>
}

/** A request that a page will make, with its cache key. */
export interface PreloadRequest {
  key: string
  load: () => Promise<unknown>
}

const asked = new Map<string, Asked>()

/** Drops all preloaded data. */
export const clearPreloadedData = (): void => asked.clear()

const isFresh = ({ at }: Asked): boolean => performance.now() - at < FRESH

function ask({ key, load }: PreloadRequest): void {
  const one = { at: performance.now(), answer: load() }
  asked.set(key, one)
  // If a caller took the response, it handles the error. Otherwise, drop the request, so that the page requests the
  // data itself.
  one.answer.catch(() => asked.get(key) === one && asked.delete(key))
}

/** Preloads data, unless it is already loading or fresh. Drops outdated data. */
export function preload(reads: readonly PreloadRequest[]): void {
  for (const [key, one] of asked) if (!isFresh(one)) asked.delete(key)
  for (const read of reads) if (!asked.has(read.key)) ask(read)
}

/** Returns the preloaded response for a key; undefined if there is none or it is outdated. */
export function takePreloaded<T>(key: string): Promise<T> | undefined {
  const found = asked.get(key)
  asked.delete(key)
  return found && isFresh(found) ? (found.answer as Promise<T>) : undefined
}
