/** What a backup says of itself. */
import { DATABASE, MESSAGES } from '../sqlite/directory.ts'
import { StorageRefused } from '../sqlite/failures.ts'

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

/** The first file of a backup: tells it from other archives before anything is unpacked. */
export const MARK_NAME = 'posthaste-backup.json'

/** The last one: without it a backup is incomplete. */
export const MANIFEST_NAME = 'manifest.json'

/** The master key, where the appliance made it itself and it is not to be kept apart. */
export const KEY_NAME = 'master.key'

/** Of the layout of the archive. */
export const FORMAT = 1

/** One file of the archive; `sha256` in hex. */
export interface BackedUpFile {
  name: string
  size: number
  sha256: string
}

/** The last file of an archive: what is in it, checked when it is restored. */
export interface Manifest extends BackupAbout {
  format: typeof FORMAT
  files: BackedUpFile[]
}

/** Where a file of the archive goes: a path becomes a file here, so nothing else may. */
const PLACES: readonly [pattern: RegExp, to: (name: string) => string][] = [
  [new RegExp(`^${DATABASE.replace('.', '\\.')}$`), (name) => name],
  [new RegExp(`^${MESSAGES}/([0-9a-f]{2})/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{10}\\1$`), (name) => name],
  [/^tls\/self-signed\.json$/, (name) => name],
  [/^master\.key$/, (name) => name],
  // Never in place: the machine that it is restored on may have its own.
  [/^config\/[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/, (name) => `restored-${name}`],
]

/** The path below the data directory; undefined when a backup has no such file. */
export const placeOf = (name: string): string | undefined =>
  PLACES.find(([pattern]) => pattern.test(name))?.[1](name)

/** Throws `StorageRefused` for another program's file, or one of a newer version. */
export function checkMark(bytes: Buffer, file: string): void {
  let mark: unknown
  try {
    mark = JSON.parse(bytes.toString('utf8'))
  } catch {
    mark = undefined // The sentence below says it.
  }
  const format = typeof mark === 'object' && mark !== null && 'format' in mark ? mark.format : undefined
  if (typeof format !== 'number') throw new StorageRefused(`${file} is not a Posthaste backup.`)
  if (format > FORMAT)
    throw new StorageRefused(`${file} was made by a newer version. Restore it with that version.`)
}
