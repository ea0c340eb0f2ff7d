/** Keeps large messages and the rows that refer to them together, with a crash or a failure between the two. */
import { crashPoint } from '../../watch/crash-points.ts'
import type { Bodies } from '../bodies.ts'
import { pack, StorageFailure, StorageLost } from './failures.ts'

/** Whether a message is too large for a row. */
export const isLarge = ({ largestRow }: Bodies, bytes: Uint8Array): boolean => bytes.byteLength > largestRow

/**
 * A copy of a message that can move to the writer, or null when the message is too large for a row. A clone would take the whole buffer
 * behind a view.
 */
export const inRow = (bodies: Bodies, bytes: Uint8Array): Uint8Array<ArrayBuffer> | null =>
  isLarge(bodies, bytes) ? null : new Uint8Array(bytes)

/**
 * Stores the large ones among messages, then the rows by `store`; takes the messages back when the rows did not become durable.
 * @param isStored whether the result means that they did
 */
export async function storeLarge<T>(
  bodies: Bodies,
  messages: readonly { id: string; bytes: Uint8Array }[],
  store: () => Promise<T>,
  isStored: (result: T) => boolean,
): Promise<T> {
  const written: string[] = []
  const takeBack = () => Promise.all(written.map((id) => bodies.remove(id)))
  try {
    for (const { id, bytes } of messages.filter((one) => isLarge(bodies, one.bytes))) {
      await bodies.put(id, bytes)
      written.push(id)
      crashPoint('message-file')
    }
    const result = await store()
    if (!isStored(result)) await takeBack()
    return result
  } catch (error) {
    // Where the rows may have become durable the large messages stay; the sweep will know.
    const ofRows = error instanceof StorageFailure || error instanceof StorageLost
    if (!ofRows || error.kind !== 'ambiguous') await takeBack()
    throw ofRows ? error : new StorageFailure(pack(error))
  }
}
