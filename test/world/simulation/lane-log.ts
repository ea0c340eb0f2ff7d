import {
  getCurrentLimits,
  createLaneState,
  isPaused,
  parseLane,
  type LaneState,
} from '../../../appliance/shaping/shaping.ts'
import type { Limits } from '../../../appliance/shaping/shaping.ts'
import type { LaneRecord, Storage } from '../../../appliance/storage/storage.ts'

/** What the daemon's lanes allowed over time, from the states it saved. It saves a change within two seconds. */

/** A lane's state at an instant, in Unix milliseconds of the simulation. */
export interface LaneSample {
  at: number
  source: string
  provider: string
  state: LaneState
}

/** An interval in which a lane was paused. */
export interface Silence {
  from: number
  /** Infinity: the pause has no end and was never lifted. */
  to: number
}

/** Records every lane state that is saved from now on. Doesn't change what the storage does. */
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
): LaneSample => ({ at, source, provider, state: parseLane(state, limitsOf(provider)) })

/** One lane's history. Pure. */
export class LaneHistory {
  readonly #samples: readonly LaneSample[]
  readonly #limits: Limits

  /** @param samples of this lane, sorted by time */
  constructor(samples: readonly LaneSample[], limits: Limits) {
    this.#samples = samples
    this.#limits = limits
  }

  /** Returns what the lane allowed at an instant. While it was paused, that is 0 messages per minute. */
  at(instant: number): { connections: number; rate: number } {
    const state = this.#stateAt(instant)
    const now = getCurrentLimits(state, this.#limits, instant)
    return isPaused(state, instant) ? { ...now, rate: 0 } : now
  }

  /**
   * Returns the most that the lane allowed at any instant of an interval, including the samples right before and after
   * it. Pauses are ignored.
   */
  most(from: number, to: number): { connections: number; rate: number } {
    const last = this.#after(to)
    const most = { connections: 0, rate: 0 }
    for (let at = this.#after(from) - 1; at <= last; at++) {
      const state = at < 0 ? createLaneState(this.#limits) : this.#samples[at]?.state
      if (state === undefined) break
      const ends = this.#samples[at + 1]?.at ?? to
      // A reduced limit may end between two samples.
      for (const instant of [from, Math.min(ends, to)]) {
        const { connections, rate } = getCurrentLimits(state, this.#limits, instant)
        most.connections = Math.max(most.connections, connections)
        most.rate = Math.max(most.rate, rate)
      }
    }
    return most
  }

  /** Pauses, in order. */
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
    return this.#samples[this.#after(instant) - 1]?.state ?? createLaneState(this.#limits)
  }

  /** Returns the index of the first sample after an instant. */
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
