/**
 * What a page will read, asked for when somebody sets out for it or is about to: the data waits neither for the script of the page nor for the page
 * before it to be taken down. The page takes it under the same key, once.
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

const asked = new Map<string, Asked>()

/** Drops what was asked for and not taken. */
export const dropAhead = (): void => asked.clear()

const isFresh = ({ at }: Asked): boolean => performance.now() - at < FRESH

function ask({ key, load }: Read): void {
  const one = { at: performance.now(), answer: load() }
  asked.set(key, one)
  // Whoever has taken it hears of the failure; else nobody has to, and the page asks itself.
  one.answer.catch(() => asked.get(key) === one && asked.delete(key))
}

/** Asks for what a page will read, unless that is under way or just came. What grew old is dropped. */
export function readAhead(reads: readonly Read[]): void {
  for (const [key, one] of asked) if (!isFresh(one)) asked.delete(key)
  for (const read of reads) if (!asked.has(read.key)) ask(read)
}

/** The answer that was asked for under this key, unless there is none or it may be old. */
export function takeAhead<T>(key: string): Promise<T> | undefined {
  const found = asked.get(key)
  asked.delete(key)
  return found && isFresh(found) ? (found.answer as Promise<T>) : undefined
}
