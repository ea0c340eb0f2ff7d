/** How many octets of messages may be in memory at once, over all sessions. */
export interface Memory {
  /** Takes room if there is some. */
  take(octets: number): boolean
  give(octets: number): void
}

/** @param limit octets in all */
export function createMemory(limit: number): Memory {
  let used = 0
  return {
    take(octets) {
      if (used + octets > limit) return false
      used += octets
      return true
    },
    give: (octets) => void (used -= octets),
  }
}

/** What one message has taken of it. */
export class Room {
  readonly #memory: Memory
  #taken = 0

  constructor(memory: Memory) {
    this.#memory = memory
  }

  /** Grows to so many octets; false when there is no room. */
  grow(octets: number): boolean {
    const more = octets - this.#taken
    if (more <= 0) return true
    if (!this.#memory.take(more)) return false
    this.#taken = octets
    return true
  }

  free(): void {
    this.#memory.give(this.#taken)
    this.#taken = 0
  }
}
