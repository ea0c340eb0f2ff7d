import { test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'

/** Opens one empty database twice, as the daemon and the command line do. */
export type OpenTwice = () => Promise<readonly [Storage, Storage]>

type Call<T> = (storage: Storage) => Promise<T>

/** One round of a race. */
export interface Round {
  /** The opening that prepares the round and looks at its result. */
  storage: Storage
  /** Makes two calls at once, one at each opening. */
  atOnce: <A, B>(first: Call<A>, second: Call<B>) => Promise<[A, B]>
}

/** Each of the four ways to begin a race comes twice. */
const ROUNDS = 8

/** Which opening makes which call, and which call is sent first. */
function createRound([one, two]: readonly [Storage, Storage], number: number): Round {
  const [at, other] = number % 2 === 0 ? [one, two] : [two, one]
  return {
    storage: one,
    async atOnce(first, second) {
      if (number % 4 < 2) return Promise.all([first(at), second(other)])
      const [b, a] = await Promise.all([second(other), first(at)])
      return [a, b]
    },
  }
}

/** A test that runs a race in several rounds. */
export function raceTest(
  name: string,
  openings: () => readonly [Storage, Storage],
  race: (round: Round) => Promise<void>,
): void {
  test(name, async () => {
    for (let number = 0; number < ROUNDS; number++) await race(createRound(openings(), number))
  })
}

/** `raceTest` on the openings of a part. */
export type Racing = (name: string, race: (round: Round) => Promise<void>) => void

/** Answers in an order that does not depend on who was first. */
export const sorted = (answers: readonly unknown[]): string[] => answers.map(String).sort()
