/** Files that a running daemon writes to its data directory for `posthaste status`. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientUsage } from '../watch/metrics.ts'

/** One run of the daemon. */
export interface DaemonRun {
  pid: number
  version: string
  /** Unix milliseconds. */
  startedAt: number
  /** Listening addresses as origins: `http://127.0.0.1:8025`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
}

/** The client usage of a running daemon at the time of the last save. */
export interface SavedClientUsage extends ClientUsage {
  /** Unix milliseconds. */
  at: number
}

const fileOf = (dataDir: string): string => join(dataDir, 'daemon.json')
const clientsOf = (dataDir: string): string => join(dataDir, 'clients.json')

/** Saves the run. Called when all listeners are open. */
export function writeDaemonRun(dataDir: string, run: DaemonRun): void {
  writeWhole(fileOf(dataDir), run)
}

/** Saves the client usage. Called every few seconds. */
export function writeClientUsage(dataDir: string, note: SavedClientUsage): void {
  writeWhole(clientsOf(dataDir), note)
}

/** Returns the last saved usage of a daemon that has not stopped cleanly, or null. */
export function readClientUsage(dataDir: string): SavedClientUsage | null {
  try {
    return JSON.parse(readFileSync(clientsOf(dataDir), 'utf8')) as SavedClientUsage
  } catch {
    // The file is missing or invalid.
    return null
  }
}

/** Replaces a file atomically. */
function writeWhole(file: string, content: object): void {
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Removes the file; called after a clean stop. */
export function removeDaemonRun(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
  rmSync(clientsOf(dataDir), { force: true })
}

/**
 * Returns the last run that did not stop cleanly, and whether its process is alive. Null if the last run stopped
 * cleanly, or there was none.
 */
export function readDaemonRun(dataDir: string): { run: DaemonRun; alive: boolean } | null {
  let run: DaemonRun
  try {
    run = JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as DaemonRun
  } catch {
    // The file is missing or invalid.
    return null
  }
  return { run, alive: isAlive(run.pid) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process is alive, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
