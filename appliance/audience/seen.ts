/**
 * Detects duplicate addresses in a file with a few bytes per address, where a set of strings would take a hundred.
 * Pure.
 */
import { randomInt } from 'node:crypto'

const FIRST_SIZE = 1 << 12

/**
 * A set of hashes. Two addresses collide in about one of 18,000 files with a million rows; this affects only counts.
 */
export class SeenAddresses {
  #slots = new Float64Array(FIRST_SIZE)
  /** Number of addresses added so far. */
  size = 0
  /** Random, so that nobody can create a file whose addresses collide. */
  readonly #seeds = [randomInt(2 ** 31), randomInt(2 ** 31)] as const

  /** Adds a text, and reports whether it was already in the set. */
  add(text: string): boolean {
    const added = this.#put(this.#slots, this.#hash(text))
    if (!added) return true
    this.size += 1
    if (this.size * 4 > this.#slots.length * 3) this.#grow()
    return false
  }

  #put(slots: Float64Array, hash: number): boolean {
    const mask = slots.length - 1
    for (let at = hash % slots.length; ; at = (at + 1) & mask) {
      if (slots[at] === hash) return false
      if (slots[at] !== 0) continue
      slots[at] = hash
      return true
    }
  }

  #grow(): void {
    const slots = new Float64Array(this.#slots.length * 2)
    for (const hash of this.#slots) if (hash !== 0) this.#put(slots, hash)
    this.#slots = slots
  }

  /** Returns a hash of 53 bits, never 0. Uses two rounds of MurmurHash2's mixing, each with its own seed. */
  #hash(text: string): number {
    let [a, b] = this.#seeds as readonly number[] as [number, number]
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      a = Math.imul(a ^ unit, 0x5bd1e995)
      a ^= a >>> 15
      b = Math.imul(b ^ unit, 0x85ebca6b)
      b ^= b >>> 13
    }
    return (a >>> 0) * 0x200000 + (b >>> 11) || 1
  }
}
