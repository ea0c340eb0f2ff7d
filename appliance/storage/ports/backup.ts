/** Backups of the whole appliance in one file. */

/** How many there are of what people ask for first. */
export interface BackupCounts {
  emails: number
  /** Deliveries that wait. */
  waiting: number
  events: number
  /** Messages whose bytes are there. */
  messages: number
}

/** What is in a backup. */
export interface BackupAbout {
  /** Of the program that made it. */
  version: string
  /** Unix milliseconds. */
  createdAt: number
  /** Number of its newest migration. */
  schema: number
  /** Whether bodies and messages of finished emails are in it. */
  bodies: boolean
  counts: BackupCounts
  /** The key that its secrets are sealed with, and whether it is in the backup. Null: they are not sealed; undefined in older backups. */
  masterKey?: { id: string; included: boolean } | null
}

/** A backup that was made. */
export interface BackupDone {
  about: BackupAbout
  /** Bytes of the file. */
  size: number
  /** Whether it was restored into a scratch directory and checked. */
  verified: boolean
}

/** What was stopped in a restored appliance: it may have been sent since the backup was made. */
export interface Held {
  /** Deliveries on hold. */
  held: number
  /** Reports to senders that were due and are not made any more. */
  reports: number
  /** The audit entry of the hold. */
  auditId: string
}

/** A backup that was restored. */
export interface Restored extends Held {
  about: BackupAbout
}
