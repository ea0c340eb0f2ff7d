/** Numbers that look random and are the same for the same seed: a run can be asked for again. */
export interface Dice {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** The items in another order. */
  shuffled<T>(items: readonly T[]): T[]
}

/** A 32-bit generator: an odd constant added, the bits of the sum mixed by multiplications and shifts. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    shuffled(items) {
      const rest = [...items]
      return items.map(() => rest.splice(between(0, rest.length - 1), 1)[0]!)
    },
  }
}
