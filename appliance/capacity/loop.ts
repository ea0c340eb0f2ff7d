/** Spreads work over turns of the event loop, so that a burst from hundreds of clients doesn't keep everyone else waiting. */

/**
 * Makes a line for jobs that begin in order, never in the same turn as they were added.
 * @param most jobs that begin in one turn of the event loop
 * @returns adds a job
 */
export function createLoopLine(most: number): (job: () => void) => void {
  const waiting: (() => void)[] = []
  let scheduled = false
  const turn = (): void => {
    scheduled = false
    for (const begin of waiting.splice(0, most)) begin()
    schedule()
  }
  const schedule = (): void => {
    if (scheduled || waiting.length === 0) return
    scheduled = true
    setImmediate(turn)
  }
  return (job) => {
    waiting.push(job)
    schedule()
  }
}
