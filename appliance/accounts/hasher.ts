import { hash, verify } from '@node-rs/argon2'
import { refuse } from '../mail/refusals.ts'

/**
 * argon2id with 19 MiB, two passes and one lane, as the OWASP Password Storage Cheat Sheet recommends. Takes 15–130 ms
 * here.
 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * A hash of the same cost that matches no password. Verified when the user doesn't exist, so that the check takes
 * equally long.
 */
const nobody =
  '$argon2id$v=19$m=19456,t=2,p=1$hx3tK5vckqPy4eOXx01bPg$JTFknkvV0SVeKg35gsi355M9W0QOEQVxQ4610MS2Mbc'

/** Longer passwords are refused, because hashing them would waste CPU time. */
export const MAX_PASSWORD_LENGTH = 1024

/** Maximum number of passwords waiting to be hashed; the last one waits a few seconds. */
const longestQueue = 40

export interface Hasher {
  /** Hashes with argon2id, in PHC string format. */
  hash(password: string): Promise<string>
  /**
   * Whether the password is correct. A missing hash (null, or empty for people without a password) takes equally long
   * and returns false.
   */
  verify(passwordHash: string | null, password: string): Promise<boolean>
}

/**
 * Hashes one password at a time. The same four threads also sign mail and read files, and must not be blocked by a
 * flood of sign-ins. Refuses with `too_many_attempts` when the queue is full.
 */
export function createHasher(): Hasher {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    if (waiting >= longestQueue) return Promise.reject(refuse('too_many_attempts', { seconds: 10 }))
    waiting += 1
    const mine = last.then(task).finally(() => (waiting -= 1))
    // Hash the next password even if this one fails; the caller of this one gets the error.
    last = mine.catch(() => undefined)
    return mine
  }
  // Keyboards may produce different code points for the same password.
  const bytes = (password: string) => Buffer.from(password.normalize('NFKC'))
  return {
    hash: (password) => inTurn(() => hash(bytes(password), cost)),
    verify(passwordHash, password) {
      if (password.length > MAX_PASSWORD_LENGTH) return Promise.resolve(false)
      const known = passwordHash === '' ? null : passwordHash
      return inTurn(async () => (await verify(known ?? nobody, bytes(password))) && known !== null)
    },
  }
}
