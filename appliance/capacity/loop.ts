/**
 * Spreads work over turns of the event loop, so that a burst from hundreds of clients doesn't delay all other clients.
 */

/**
 * Creates a queue for jobs that start in order, never in the turn in which they were added.
 * @param most maximum number of jobs that start in one turn of the event loop
 * @returns adds a job; `weight` counts a long job as several
 */
export function createLoopQueue(most: number): (job: () => void, weight?: number) => void {
  const waiting: { begin: () => void; weight: number }[] = []
  let scheduled = false
  const turn = (): void => {
    scheduled = false
    let weight = 0
    do {
      const job = waiting.shift()!
      weight += job.weight
      job.begin()
    } while (waiting.length > 0 && weight + waiting[0]!.weight <= most)
    schedule()
  }
  const schedule = (): void => {
    if (scheduled || waiting.length === 0) return
    scheduled = true
    setImmediate(turn)
  }
  return (begin, weight = 1) => {
    waiting.push({ begin, weight })
    schedule()
  }
}

/**
 * Creates a queue whose first jobs in each turn of the event loop start immediately. The other jobs start in later
 * turns, in order.
 * @param most maximum number of jobs that start in one turn of the event loop
 * @returns adds a job
 */
export function createLoopLimiter(most: number): (job: () => void) => void {
  const waiting: (() => void)[] = []
  /** Number of jobs started in this turn. */
  let begun = 0
  let scheduled = false
  const turn = (): void => {
    scheduled = false
    const next = waiting.splice(0, most)
    begun = next.length
    for (const begin of next) begin()
    if (begun > 0) schedule()
  }
  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    setImmediate(turn)
  }
  return (job) => {
    schedule()
    if (begun >= most || waiting.length > 0) return void waiting.push(job)
    begun++
    job()
  }
}
