/**
 * Where messages are kept that are too large for a row. The row says that its message is there; which messages those are, the engine decides.
 * The order makes a crash harmless: bytes come before their row and go after it, so what a crash leaves is bytes without a row, for the sweep.
 */
export interface Bodies {
  /** Makes the place ready, once before all else. */
  begin(): Promise<void>
  /** Resolves when the bytes are durable. Rejects, having changed nothing, when there are bytes of this email. */
  put(emailId: string, bytes: Uint8Array): Promise<void>
  /** The bytes of an email whose row says that they are here. Rejects with a sentence for people when they are not. */
  read(emailId: string): Promise<Uint8Array>
  /** What is not there is no error. */
  remove(emailId: string): Promise<void>
  /**
   * Removes what no row speaks of, and no call that runs will: only what has been there for an hour.
   * @param existing which of these emails have a row that says that their message is here
   * @param stop asked between steps
   * @returns how many were removed
   */
  sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number>
}
