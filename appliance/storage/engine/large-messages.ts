/** Keeps large messages and their rows consistent if a crash or failure happens between the two. */
import { crashPoint } from '../../watch/crash-points.ts'
import type { LargeMessageStore } from '../bodies.ts'
import { toFailure, StorageFailure, StorageLost } from './failures.ts'

/** Whether a message is too large for a row. */
export const isLarge = ({ largestRow }: LargeMessageStore, bytes: Uint8Array): boolean =>
  bytes.byteLength > largestRow

/**
 * Copies a message for the writer; null if it is too large for a row. It is copied because a structured clone of a view
 * would send the whole buffer.
 */
export const copyForRow = (bodies: LargeMessageStore, bytes: Uint8Array): Uint8Array<ArrayBuffer> | null =>
  isLarge(bodies, bytes) ? null : new Uint8Array(bytes)

/**
 * Stores the large messages, then the rows by calling `store`. Removes the messages if the rows weren't stored.
 * @param isStored whether a result means that the rows were stored
 */
export async function storeLarge<T>(
  bodies: LargeMessageStore,
  messages: readonly { id: string; bytes: Uint8Array }[],
  store: () => Promise<T>,
  isStored: (result: T) => boolean,
): Promise<T> {
  const written: string[] = []
  // A failure is harmless, because the sweep removes messages without rows.
  const takeBack = () => Promise.allSettled(written.map((id) => bodies.remove(id)))
  const write = async ({ id, bytes }: { id: string; bytes: Uint8Array }): Promise<void> => {
    await bodies.put(id, bytes)
    written.push(id)
    crashPoint('message-file')
  }
  try {
    const writes = messages.filter((one) => isLarge(bodies, one.bytes)).map(write)
    await settleAll(writes)
    const result = await store()
    if (!isStored(result)) await takeBack()
    return result
  } catch (error) {
    // If it is unknown whether the rows were stored, keep the messages; the sweep removes them if not.
    const ofRows = error instanceof StorageFailure || error instanceof StorageLost
    if (!ofRows || error.kind !== 'ambiguous') await takeBack()
    throw ofRows ? error : new StorageFailure(toFailure(error))
  }
}

/** Removes the messages of some emails. Attempts all before it rejects. */
export async function removeAll(bodies: LargeMessageStore, ids: readonly string[]): Promise<void> {
  await settleAll(ids.map((id) => bodies.remove(id)))
}

/** Waits for all, then rejects with the first error if there is one. */
async function settleAll(work: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
