/** Makes and checks return paths with keys that Posthaste makes for itself. */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { madeAt } from '../mail/ids.ts'
import { isSignedBy, makeReturnPath, type ReturnPath, type ReturnPathKey } from '../mail/return-path.ts'
import type { Storage } from '../storage/storage.ts'

export interface ReturnPaths {
  /**
   * The return path of an email.
   * @param host where the reports go, such as `send.example.com`
   */
  make(emailId: string, host: string): Promise<string>
  /** Whether it was made here, at most two key periods ago. Rejects when the storage fails. */
  isOurs(path: ReturnPath): Promise<boolean>
}

/**
 * How long a key signs, in milliseconds. It is accepted for as long again, so every return path is good for at least this time:
 * complaints can arrive months after an email.
 */
export const KEY_PERIOD = 365 * 86_400_000

/** Key numbers fit in one hexadecimal digit. */
const NUMBERS = 16

/** Periods are counted from the start of 1970. The time in the id of an email tells whose period it is. */
const periodOf = (ms: number): number => Math.floor(ms / KEY_PERIOD)

export function createReturnPaths({
  storage,
  clock,
}: {
  storage: Pick<Storage, 'secret'>
  clock: Clock
}): ReturnPaths {
  const known = new Map<number, Uint8Array>()

  /** The key of a period, made when it is first asked for. */
  async function keyOf(period: number): Promise<ReturnPathKey> {
    let secret = known.get(period)
    if (!secret) {
      secret = await storage.secret({ name: `return-path-${period}`, fresh: randomBytes(32) }, clock.now())
      known.set(period, secret)
    }
    return { number: period % NUMBERS, secret }
  }

  return {
    make: async (emailId, host) => makeReturnPath(await keyOf(periodOf(madeAt(emailId))), emailId, host),
    async isOurs(path) {
      const period = periodOf(madeAt(path.emailId))
      const age = periodOf(clock.now()) - period
      // A stranger chooses the id, and must not make us make keys.
      if (path.proof === null || age < 0 || age > 1) return false
      return isSignedBy(await keyOf(period), path)
    },
  }
}
