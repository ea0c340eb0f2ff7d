import { test } from 'vitest'
import type { Storage } from '../../appliance/storage/storage.ts'

/** Opens one empty database twice, as the daemon and the command line do. */
export type OpenTwice = () => Promise<readonly [Storage, Storage]>

type Call<T> = (storage: Storage) => Promise<T>

/** One round of a race. */
export interface Round {
  /** The connection that prepares the round and checks its result. */
  storage: Storage
  /** Makes two calls at once, one on each connection. */
  atOnce: <A, B>(first: Call<A>, second: Call<B>) => Promise<[A, B]>
}

/** Each of the four ways to start a race occurs twice. */
const ROUNDS = 8

/** Decides which connection makes which call, and which call is sent first. */
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

/** Defines a test that runs a race in several rounds. */
export function raceTest(
  name: string,
  openings: () => readonly [Storage, Storage],
  race: (round: Round) => Promise<void>,
): void {
  test(name, async () => {
    for (let number = 0; number < ROUNDS; number++) await race(createRound(openings(), number))
  })
}

/** `raceTest` with a part's connections. */
export type Racing = (name: string, race: (round: Round) => Promise<void>) => void

/** Sorts results, so that the order doesn't depend on who was first. */
export const sorted = (answers: readonly unknown[]): string[] => answers.map(String).sort()
