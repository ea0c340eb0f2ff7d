/** Stores the time of the last backup in the data directory, for `posthaste status`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The last backup. */
export interface BackupNote {
  /** Unix milliseconds. */
  at: number
  file: string
  /** In bytes. */
  size: number
  verified: boolean
}

const fileOf = (dataDir: string): string => join(dataDir, 'last-backup.json')

/** Replaces the last note. Throws if the data directory isn't writable. */
export function noteBackup(dataDir: string, note: BackupNote): void {
  writeFileSync(fileOf(dataDir), JSON.stringify(note), { mode: 0o600 })
}

/** Null if no backup was recorded. */
export function lastBackup(dataDir: string): BackupNote | null {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as BackupNote
  } catch {
    // The file is missing or invalid.
    return null
  }
}
