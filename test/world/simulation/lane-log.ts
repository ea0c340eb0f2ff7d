import { allowed, freshLane, isPaused, readLane, type LaneState } from '../../../appliance/shaping/shaping.ts'
import type { Limits } from '../../../appliance/shaping/shaping.ts'
import type { LaneRecord, Storage } from '../../../appliance/storage/storage.ts'

/** What the daemon's lanes allowed over time, as it saved them itself: at most two seconds after each change. */

/** A lane at an instant, Unix milliseconds of the simulation. */
export interface LaneSample {
  at: number
  source: string
  provider: string
  state: LaneState
}

/** An interval in which a lane let nothing go. */
export interface Silence {
  from: number
  /** Infinity: until somebody ends it, and nobody did. */
  to: number
}

/** Collects what is saved of lanes from now on; what the storage does is not touched. */
export function logLanes(
  storage: Pick<Storage, 'saveLanes'>,
  limitsOf: (provider: string) => Limits,
): LaneSample[] {
  const samples: LaneSample[] = []
  const save = storage.saveLanes.bind(storage)
  storage.saveLanes = async (args, now) => {
    await save(args, now)
    for (const record of args.lanes) samples.push(sampleOf(record, limitsOf, now))
  }
  return samples
}

const sampleOf = (
  { source, provider, state }: LaneRecord,
  limitsOf: (provider: string) => Limits,
  at: number,
): LaneSample => ({ at, source, provider, state: readLane(state, limitsOf(provider)) })

/** One lane's past. Pure. */
export class LaneHistory {
  readonly #samples: readonly LaneSample[]
  readonly #limits: Limits

  /** @param samples of this lane, in order of time */
  constructor(samples: readonly LaneSample[], limits: Limits) {
    this.#samples = samples
    this.#limits = limits
  }

  /** What it allowed at an instant; no messages a minute while it was paused. */
  at(instant: number): { connections: number; rate: number } {
    const state = this.#stateAt(instant)
    const now = allowed(state, this.#limits, instant)
    return isPaused(state, instant) ? { ...now, rate: 0 } : now
  }

  /** The most that it allowed at any instant of an interval, with the samples before and after it; pauses left aside. */
  most(from: number, to: number): { connections: number; rate: number } {
    const last = this.#after(to)
    const most = { connections: 0, rate: 0 }
    for (let at = this.#after(from) - 1; at <= last; at++) {
      const state = at < 0 ? freshLane(this.#limits) : this.#samples[at]?.state
      if (state === undefined) break
      const ends = this.#samples[at + 1]?.at ?? to
      // Narrow limits may end between two samples.
      for (const instant of [from, Math.min(ends, to)]) {
        const { connections, rate } = allowed(state, this.#limits, instant)
        most.connections = Math.max(most.connections, connections)
        most.rate = Math.max(most.rate, rate)
      }
    }
    return most
  }

  /** When it was paused, in order. */
  get silences(): Silence[] {
    const silences: Silence[] = []
    for (const [at, { state }] of this.#samples.entries()) {
      if (state.pause === null) continue
      const next = this.#samples[at + 1]
      const to = Math.min(state.pause.until ?? Infinity, next?.at ?? Infinity)
      const last = silences.at(-1)
      if (last?.from === state.pause.at) last.to = Math.max(last.to, to)
      else if (to > state.pause.at) silences.push({ from: state.pause.at, to })
    }
    return silences
  }

  #stateAt(instant: number): LaneState {
    return this.#samples[this.#after(instant) - 1]?.state ?? freshLane(this.#limits)
  }

  /** Index of the first sample after an instant. */
  #after(instant: number): number {
    let low = 0
    let high = this.#samples.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#samples[middle]!.at <= instant) low = middle + 1
      else high = middle
    }
    return low
  }
}
