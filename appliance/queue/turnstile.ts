/** Runs one piece of work at a time, in the order in which they came; the failure of one stops no other. */
export function createTurnstile(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined) // Told to who waits for it.
    return mine
  }
}
