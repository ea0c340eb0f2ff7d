/** Stores the time of the last backup in the data directory, for `posthaste status`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Time and file of the last backup. */
export interface BackupRecord {
  /** Unix milliseconds. */
  at: number
  file: string
  /** In bytes. */
  size: number
  verified: boolean
}

const fileOf = (dataDir: string): string => join(dataDir, 'last-backup.json')

/** Replaces the stored note. Throws if the data directory isn't writable. */
export function saveBackupRecord(dataDir: string, note: BackupRecord): void {
  writeFileSync(fileOf(dataDir), JSON.stringify(note), { mode: 0o600 })
}

/** Returns the last backup; null if none was recorded. */
export function readLastBackup(dataDir: string): BackupRecord | null {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as BackupRecord
  } catch {
    // The file is missing or invalid.
    return null
  }
}
