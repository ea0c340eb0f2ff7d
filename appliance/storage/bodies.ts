/**
 * Storage for messages that are too large for a row. The engine decides which ones these are, and their rows say so. Bytes are written
 * before their row and removed after it, so a crash can leave only bytes without a row, which the sweep removes.
 */
export interface Bodies {
  /** Prepares the storage. Called once, before anything else. */
  begin(): Promise<void>
  /** Resolves once the bytes are durable. If the email already has bytes, rejects and changes nothing. */
  put(emailId: string, bytes: Uint8Array): Promise<void>
  /** Reads the bytes of an email. If they are missing, rejects with a message for the operator. */
  read(emailId: string): Promise<Uint8Array>
  /** Does nothing if the email has no bytes. */
  remove(emailId: string): Promise<void>
  /**
   * Removes bytes that no row refers to. Bytes younger than an hour are kept, because their row may not be written yet.
   * @param existing returns those of the given emails whose rows refer to bytes here
   * @param stop checked between steps
   * @returns number of messages removed
   */
  sweep(existing: (ids: string[]) => Promise<string[]>, stop: () => boolean): Promise<number>
}
