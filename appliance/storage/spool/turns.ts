/** Whose turn it is: the fairness between streams and teams. Pure, but for what it remembers from one lease to the next. */
import { type Stream, STREAMS } from '../../mail/source.ts'

/** Something that waits for its turn. */
export interface Waiter {
  stream: Stream
  /** Who shares equally with others of its stream: stream and team. */
  party: string
  /** When the oldest that waits there was due. */
  dueAt: number
  /** Which of equals is first within its destination: the one with the lower number. */
  rank: number
}

/** Places of transactional mail before one of broadcast mail, where both wait. */
const BEFORE_BROADCAST = 9

/** Scopes, and parties of a scope, that are remembered; then all begin anew. */
const MOST_SCOPES = 10_000

const MOST_PARTIES = 10_000

/** What one scope remembers. */
interface Memory {
  /** Transactional places since the last of broadcast mail; below zero after many of broadcast mail at once. */
  sinceBroadcast: number
  /** For each stream, the count at which the party that was served last began its turn. */
  clock: Record<Stream, number>
  /** Parties that are ahead of the clock, with their counts. */
  counts: Map<string, number>
}

/**
 * Start-time fair queueing: each party has a count of the places it got, the lowest count is next, and who comes after a
 * pause begins where the others are, so that nobody saves up turns. The recipients of one email come together and count as many.
 */
export class Turns {
  readonly #scopes = new Map<string, Memory>()

  /** The next of those that wait (at least one) in a scope: a destination, or all of them. Of equals the lower `by` is first. */
  next<W extends Waiter>(scope: string, waiting: readonly W[], by: 'rank' | 'dueAt'): W {
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

  /** Those whose turns in a scope are next, of each stream at most so many. */
  order<W extends Waiter>(scope: string, waiting: readonly W[], most: number): W[] {
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

  /** Counts places that one of them was given. */
  took(scope: string, { stream, party }: Waiter, places: number, waiting: readonly Waiter[]): void {
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

const isBroadcast = ({ stream }: Waiter): boolean => stream === 'broadcast'

const countOf = ({ clock, counts }: Memory, { stream, party }: Pick<Waiter, 'stream' | 'party'>): number =>
  Math.max(clock[stream], counts.get(party) ?? 0)

function isBefore(memory: Memory, one: Waiter, other: Waiter, by: 'rank' | 'dueAt'): boolean {
  const [mine, theirs] = [countOf(memory, one), countOf(memory, other)]
  return mine === theirs ? one[by] < other[by] : mine < theirs
}
