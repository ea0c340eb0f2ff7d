/** Several places for large messages: new ones go to the first, and those in the others stay readable. */
import { type BodyStoreStatus, type LargeMessageStore, MissingMessage } from './bodies.ts'

export class LayeredBodies implements LargeMessageStore {
  readonly largestRow: number
  readonly #first: LargeMessageStore
  readonly #all: readonly LargeMessageStore[]
  readonly probe: (() => Promise<BodyStoreStatus>) | undefined

  /** @param first where new messages are stored @param others where earlier ones may be */
  constructor(first: LargeMessageStore, others: readonly LargeMessageStore[]) {
    this.#first = first
    this.#all = [first, ...others]
    this.largestRow = first.largestRow
    const probed = this.#all.find((one) => one.probe !== undefined)
    this.probe = probed && (() => probed.probe!())
  }

  async begin(): Promise<void> {
    for (const one of this.#all) await one.begin()
  }

  put(emailId: string, bytes: Uint8Array): Promise<void> {
    return this.#first.put(emailId, bytes)
  }

  /** @throws MissingMessage of the place for new messages, if no place has the message */
  async read(emailId: string): Promise<Uint8Array> {
    let missing: MissingMessage | undefined
    for (const one of this.#all) {
      try {
        return await one.read(emailId)
      } catch (error) {
        if (!(error instanceof MissingMessage)) throw error
        missing ??= error
      }
    }
    throw missing!
  }

  async remove(emailId: string): Promise<void> {
    for (const one of this.#all) await one.remove(emailId)
  }

  async sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number> {
    // A place that fails must not keep the others from being swept.
    const results = await Promise.allSettled(this.#all.map((one) => one.sweep(existing, stop)))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) throw failed.reason
    return results.reduce((sum, result) => sum + (result.status === 'fulfilled' ? result.value : 0), 0)
  }

  close(): void {
    for (const one of this.#all) one.close?.()
  }
}
