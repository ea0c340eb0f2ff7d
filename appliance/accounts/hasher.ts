import { hash, verify } from '@node-rs/argon2'
import { refuse } from '../mail/refusals.ts'

/** argon2id with 19 MiB, two passes, one lane: the first choice of the OWASP password storage sheet; 15–130 ms here. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash of the same cost that no password has: compared with when there is no user, so that it takes as long. */
const nobody =
  '$argon2id$v=19$m=19456,t=2,p=1$hx3tK5vckqPy4eOXx01bPg$JTFknkvV0SVeKg35gsi355M9W0QOEQVxQ4610MS2Mbc'

/** Longer is an attempt to keep the processor busy. */
export const LONGEST_PASSWORD = 1024

/** How many may wait for their turn; the last of them waits some seconds. */
const longestQueue = 40

export interface Hasher {
  /** argon2id in PHC string form. */
  hash(password: string): Promise<string>
  /** Whether it is the password; a missing hash (null, or empty for people who sign in without one) takes as long and says no. */
  verify(passwordHash: string | null, password: string): Promise<boolean>
}

/**
 * Hashes one password at a time: the threads that do it are the four which also sign mail and read files, and a flood of
 * sign-ins must leave them room. Refuses with `too_many_attempts` when the queue is full.
 */
export function createHasher(): Hasher {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    if (waiting >= longestQueue) return Promise.reject(refuse('too_many_attempts', { seconds: 10 }))
    waiting += 1
    const mine = last.then(task).finally(() => (waiting -= 1))
    // The next in line goes on whatever became of this one; its own caller hears of a failure.
    last = mine.catch(() => undefined)
    return mine
  }
  // One password can be typed as different code points on different keyboards.
  const bytes = (password: string) => Buffer.from(password.normalize('NFKC'))
  return {
    hash: (password) => inTurn(() => hash(bytes(password), cost)),
    verify(passwordHash, password) {
      if (password.length > LONGEST_PASSWORD) return Promise.resolve(false)
      const known = passwordHash === '' ? null : passwordHash
      return inTurn(async () => (await verify(known ?? nobody, bytes(password))) && known !== null)
    },
  }
}
