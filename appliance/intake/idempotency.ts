/** Idempotent requests: identifies repeated ones, and runs only one of them at a time. */
import { createHash } from 'node:crypto'
import { refuse } from '../mail/refusals.ts'
import type { Receipt, ReceiptName } from '../storage/storage.ts'

/** How long a key refers to the request that first used it (reference: wire format §4). */
export const RECEIPT_LIFETIME = 24 * 60 * 60 * 1000
const MAX_KEY = 256

/** Reads the `Idempotency-Key` field; null if there is none. Refuses: `invalid_idempotency_key`. */
export function parseIdempotencyKey(value: string | string[] | undefined): string | null {
  if (value === undefined) return null
  const key = [value].flat().join(', ')
  if (key.length < 1 || key.length > MAX_KEY) throw refuse('invalid_idempotency_key')
  return key
}

/**
 * Returns the fingerprint of a request: SHA-256 in hex.
 * @param digest digest of its body (`computeBodyDigest`)
 * @param extra anything else that affects the response, such as a header field
 */
export function computeFingerprint(digest: string, extra = ''): string {
  return createHash('sha256').update(extra).update('\0').update(digest).digest('hex')
}

/** Returns the stored response if the request is the same. Refuses: `invalid_idempotent_request`. */
export function replayResponse(
  receipt: Receipt,
  fingerprint: string,
): { ids: string[]; errors: { index: number; message: string }[] } {
  if (receipt.fingerprint !== fingerprint) throw refuse('invalid_idempotent_request')
  const body = JSON.parse(receipt.body) as { errors?: { index: number; message: string }[] } | null
  return { ids: receipt.emailIds, errors: body?.errors ?? [] }
}

/** Keys whose first request is still running in this process. */
export interface RunningKeys {
  /**
   * Runs `work` unless it is already running for this name; a null name always runs. Refuses:
   * `concurrent_idempotent_requests`.
   */
  alone<T>(name: ReceiptName | null, work: () => Promise<T>): Promise<T>
}

/**
 * Creates the set of running keys. Across processes, the transaction of `put` decides; this only avoids composing the
 * same email many times.
 */
export function createRunningKeys(): RunningKeys {
  const names = new Set<string>()
  return {
    async alone(receiptName, work) {
      if (receiptName === null) return work()
      const name = JSON.stringify([receiptName.teamId, receiptName.scope, receiptName.key])
      if (names.has(name)) throw refuse('concurrent_idempotent_requests')
      names.add(name)
      try {
        return await work()
      } finally {
        names.delete(name)
      }
    },
  }
}
