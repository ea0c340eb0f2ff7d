/** Copies of the database from before an upgrade. */
export interface Snapshot {
  /** Its path. */
  file: string
  /** Number of its newest migration. */
  schema: number
  /** Bytes. */
  size: number
  createdAt: number
}
