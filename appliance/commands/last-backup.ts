/** A note of the last backup in the data directory, so that `posthaste status` can tell its age. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The backup that was made last. */
export interface BackupNote {
  /** Unix milliseconds. */
  at: number
  file: string
  /** Bytes. */
  size: number
  verified: boolean
}

const fileOf = (dataDir: string): string => join(dataDir, 'last-backup.json')

/** Takes the place of the note before. Throws when the data directory cannot be written to. */
export function noteBackup(dataDir: string, note: BackupNote): void {
  writeFileSync(fileOf(dataDir), JSON.stringify(note), { mode: 0o600 })
}

/** Null when no backup was made, or none that was noted. */
export function lastBackup(dataDir: string): BackupNote | null {
  try {
    return JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as BackupNote
  } catch {
    // No file, or one that nobody can use: nothing is known of a backup.
    return null
  }
}
