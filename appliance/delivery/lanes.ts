import PQueue from 'p-queue'

/**
 * What is in flight, lane by lane. A lane is the queue towards one destination; today one recipient domain.
 * The truth about what waits is the spool: a lane only holds what has been leased.
 */
export interface Lanes {
  /** Runs `work` when the lane has room. */
  run(lane: string, work: () => Promise<void>): void
  /** Deliveries taken and not finished. */
  readonly inFlight: number
  /** Lanes that are to get no more for now. */
  full(): string[]
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>
}

/** @param perLane how much of one lane may run at once */
export function createLanes(perLane: number): Lanes {
  const queues = new Map<string, PQueue>()
  let inFlight = 0

  const queueOf = (lane: string): PQueue => {
    let queue = queues.get(lane)
    if (!queue) queues.set(lane, (queue = new PQueue({ concurrency: perLane })))
    return queue
  }

  return {
    run(lane, work) {
      const queue = queueOf(lane)
      inFlight += 1
      void queue.add(work).finally(() => {
        inFlight -= 1
        if (queue.size === 0 && queue.pending === 0) queues.delete(lane)
      })
    },
    get inFlight() {
      return inFlight
    },
    full: () =>
      [...queues].filter(([, queue]) => queue.size + queue.pending >= perLane).map(([lane]) => lane),
    async idle() {
      await Promise.all([...queues.values()].map((queue) => queue.onIdle()))
    },
  }
}
