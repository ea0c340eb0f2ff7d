/** Stores the time of the last backup in the data directory, for `posthaste status`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Time and file of the last backup. */
export interface BackupNote {
  /** Unix milliseconds. */
  at: number
  file: string
  /** In bytes. */
  size: number
  verified: boolean
}

const fileOf = (dataDir: string): string => join(dataDir, 'last-backup.json')

/** Replaces the stored note. Throws if the data directory isn't writable. */
export function noteBackup(dataDir: string, note: BackupNote): void {
  writeFileSync(fileOf(dataDir), JSON.stringify(note), { mode: 0o600 })
}

/** Returns the last backup; null if none was recorded. */
export function lastBackup(dataDir: string): BackupNote | null {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as BackupNote
  } catch {
    // The file is missing or invalid.
    return null
  }
}
