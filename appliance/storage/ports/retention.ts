/** Removing what has been kept long enough, in steps that never hold the writer for long. Only what is final is ever removed. */

/** One step of removing: what is older than `before` (Unix milliseconds), oldest first. */
export interface PurgeArgs {
  before: number
  /** Rows looked at. */
  most: number
  /** Where the step before ended; nothing begins at the start. */
  after?: string | undefined
  /** Bytes of messages that are enough, for `purgeBodies`. */
  enough?: number | undefined
}

export interface Purged {
  /** Emails, attempts or events that were removed, or lost their bodies. */
  count: number
  /** Bytes of messages that were removed. */
  bytes: number
  /** Where the next step begins; null when there is none. */
  next: string | null
}

/** What the appliance holds on the disk, in bytes. */
export interface DiskUse {
  /** Of the database, without pages that are free. */
  database: number
  /** Pages of it that are free. */
  free: number
  /** Of messages that are files. */
  files: number
}

export interface RetentionStorage {
  /** Removes html, text and message of final emails. `most` bounds emails; a step ends early at two megabytes of messages. */
  purgeBodies(args: PurgeArgs, now: number): Promise<Purged>
  /**
   * The same, and subject, headers, names of attachments and logged requests, for emails of domains whose bodies are not kept.
   * `before`: those accepted before; `after` is not used.
   */
  purgeUnkeptBodies(args: PurgeArgs, now: number): Promise<Purged>
  purgeAttempts(args: PurgeArgs, now: number): Promise<Purged>
  /** Those that consumers have not read yet stay. */
  purgeEvents(args: PurgeArgs, now: number): Promise<Purged>
  /** Removes final emails with all that belongs to them. `most` bounds the rows of recipients and events, one email at least. */
  purgeEmails(args: PurgeArgs, now: number): Promise<Purged>
  /** Gives at most `pages` free pages back to the file system; how many. Databases of before version 0.1 keep them for reuse. */
  shrink(args: { pages: number }, now: number): Promise<number>
  diskUse(args: object, now: number): Promise<DiskUse>
  /** Notes how much is held on a UTC day (`2026-11-20`), and forgets days before `since`. */
  saveDiskDay(args: { day: string; bytes: number; since: string }, now: number): Promise<void>
  /** Oldest first. */
  listDiskDays(args: object, now: number): Promise<{ day: string; bytes: number }[]>
  /** Whether bodies of a domain's emails are kept, from now on; false when there is no such domain. */
  setKeepBodies(args: { teamId: string; domainId: string; keep: boolean }, now: number): Promise<boolean>
  /** Names of the domains whose bodies are not kept. */
  domainsWithoutBodies(args: { teamId: string }, now: number): Promise<string[]>
}
