/** Fair scheduling between streams and teams. Pure, except for the state kept between leases. */
import { type Stream, STREAMS } from '../../mail/source.ts'

/** A queue that waits for its turn. */
export interface WaitingQueue {
  stream: Stream
  /** The stream and team that the queue belongs to. Parties of the same stream get equal shares. */
  party: string
  /** When the oldest delivery of the queue was due. */
  dueAt: number
  /** Breaks ties within a destination: the lower number goes first. */
  rank: number
}

/** Number of slots for transactional mail before one for broadcast mail, if both wait. */
const BEFORE_BROADCAST = 9

/** Maximum number of scopes, and of parties in a scope. When it is reached, all counts start over. */
const MOST_SCOPES = 10_000

const MOST_PARTIES = 10_000

/** The state of one scope: a destination, or all destinations. */
interface Memory {
  /** Number of transactional slots since the last broadcast slot; negative after many broadcast slots at once. */
  sinceBroadcast: number
  /** For each stream, the count at which the last served party began its turn. */
  clock: Record<Stream, number>
  /** Parties that are ahead of the clock, with their counts. */
  counts: Map<string, number>
}

/**
 * Start-time fair queueing. Each party has a count of its slots, and the party with the lowest count is next. A party
 * that returns after a pause starts at the level of the others, so that nobody saves up turns. Recipients of one email
 * are leased together, and each of them counts as a slot.
 */
export class FairQueue {
  readonly #scopes = new Map<string, Memory>()

  /**
   * Returns the waiting queue whose turn it is in a scope: a destination, or all destinations. There must be at least one.
   * The lower value of `by` breaks ties.
   */
  next<W extends WaitingQueue>(scope: string, waiting: readonly W[], by: 'rank' | 'dueAt'): W {
    const memory = this.#memory(scope)
    const both = waiting.some(isBroadcast) && !waiting.every(isBroadcast)
    const stream: Stream = memory.sinceBroadcast >= BEFORE_BROADCAST ? 'broadcast' : 'transactional'
    let best: W | undefined
    for (const one of waiting) {
      if (both && one.stream !== stream) continue
      if (!best || isBefore(memory, one, best, by)) best = one
    }
    return best!
  }

  /** Returns the waiting queues of a scope in the order of their turns, at most `most` of each stream. */
  order<W extends WaitingQueue>(scope: string, waiting: readonly W[], most: number): W[] {
    const memory = this.#memory(scope)
    return STREAMS.flatMap((stream) =>
      waiting
        .filter((one) => one.stream === stream)
        .map((one) => ({ one, count: countOf(memory, one) }))
        .sort((a, b) => a.count - b.count || a.one.rank - b.one.rank)
        .slice(0, most)
        .map(({ one }) => one),
    )
  }

  /** Counts the slots that one of the waiting queues got. */
  took(
    scope: string,
    { stream, party }: WaitingQueue,
    places: number,
    waiting: readonly WaitingQueue[],
  ): void {
    const memory = this.#memory(scope)
    const both = waiting.some(isBroadcast) && !waiting.every(isBroadcast)
    const step = stream === 'broadcast' ? -BEFORE_BROADCAST * places : places
    memory.sinceBroadcast = both ? memory.sinceBroadcast + step : 0
    const begun = countOf(memory, { stream, party })
    memory.clock[stream] = begun
    if (memory.counts.size >= MOST_PARTIES) memory.counts.clear()
    memory.counts.set(party, begun + places)
  }

  #memory(scope: string): Memory {
    let memory = this.#scopes.get(scope)
    if (memory) return memory
    if (this.#scopes.size >= MOST_SCOPES) this.#scopes.clear()
    memory = { sinceBroadcast: 0, clock: { transactional: 0, broadcast: 0 }, counts: new Map() }
    this.#scopes.set(scope, memory)
    return memory
  }
}

const isBroadcast = ({ stream }: WaitingQueue): boolean => stream === 'broadcast'

const countOf = (
  { clock, counts }: Memory,
  { stream, party }: Pick<WaitingQueue, 'stream' | 'party'>,
): number => Math.max(clock[stream], counts.get(party) ?? 0)

function isBefore(memory: Memory, one: WaitingQueue, other: WaitingQueue, by: 'rank' | 'dueAt'): boolean {
  const [mine, theirs] = [countOf(memory, one), countOf(memory, other)]
  return mine === theirs ? one[by] < other[by] : mine < theirs
}
