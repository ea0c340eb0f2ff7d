/** Creates and verifies return paths, with keys that Posthaste generates. */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { getIdTime } from '../mail/ids.ts'
import { isSignedBy, createReturnPath, type ReturnPath, type ReturnPathKey } from '../mail/return-path.ts'
import type { Storage } from '../storage/storage.ts'

export interface ReturnPaths {
  /**
   * Creates the return path of an email.
   * @param host domain that bounces and reports are sent to, such as `send.example.com`
   */
  make(emailId: string, host: string): Promise<string>
  /** Whether a return path was created here, at most two key periods ago. Rejects if storage fails. */
  isOurs(path: ReturnPath): Promise<boolean>
}

/**
 * How long a key is used, in milliseconds. It is accepted for the same time again, so that every return path is valid
 * for at least one period: complaints can arrive months after an email.
 */
export const KEY_PERIOD = 365 * 86_400_000

/** Key numbers fit in one hexadecimal digit. */
const NUMBERS = 16

/** Numbers the periods since 1970. The time in an email's id determines its period. */
const periodOf = (ms: number): number => Math.floor(ms / KEY_PERIOD)

export function createReturnPaths({
  storage,
  clock,
}: {
  storage: Pick<Storage, 'secret'>
  clock: Clock
}): ReturnPaths {
  const known = new Map<number, KeyObject>()

  /** Returns the key of a period; generates it on first use. */
  async function keyOf(period: number): Promise<ReturnPathKey> {
    let secret = known.get(period)
    if (!secret) {
      const name = `return-path-${period}`
      const octets = await storage.secret({ name, fresh: randomBytes(32) }, clock.now())
      secret = createSecretKey(octets)
      known.set(period, secret)
    }
    return { number: period % NUMBERS, secret }
  }

  return {
    make: async (emailId, host) => createReturnPath(await keyOf(periodOf(getIdTime(emailId))), emailId, host),
    async isOurs(path) {
      const period = periodOf(getIdTime(path.emailId))
      const age = periodOf(clock.now()) - period
      // The id comes from outside, and must not make us generate keys.
      if (path.proof === null || age < 0 || age > 1) return false
      return isSignedBy(await keyOf(period), path)
    },
  }
}
