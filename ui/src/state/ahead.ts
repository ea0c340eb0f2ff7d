/**
 * What a page will read, asked for when somebody sets out for it: the data waits neither for the script of the page nor for the page
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

let asked = new Map<string, Asked>()

/** Drops what was asked for and not taken. */
export const dropAhead = (): void => asked.clear()

const isFresh = ({ at }: Asked): boolean => performance.now() - at < FRESH

function ask(load: Read['load']): Asked {
  const answer = load()
  // Whoever takes it hears of the failure; nobody else has to.
  answer.catch(() => undefined)
  return { at: performance.now(), answer }
}

/** Asks for what a page will read, unless that is under way; what was asked for another page and not taken is dropped. */
export function readAhead(reads: readonly Read[]): void {
  const before = asked
  asked = new Map(
    reads.map(({ key, load }) => {
      const known = before.get(key)
      return [key, known && isFresh(known) ? known : ask(load)]
    }),
  )
}

/** The answer that was asked for under this key, unless there is none or it may be old. */
export function takeAhead<T>(key: string): Promise<T> | undefined {
  const found = asked.get(key)
  asked.delete(key)
  return found && isFresh(found) ? (found.answer as Promise<T>) : undefined
}
