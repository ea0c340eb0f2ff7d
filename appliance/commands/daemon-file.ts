/** What a running daemon leaves in its data directory, so that `posthaste status` finds it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** One run of the daemon. */
export interface DaemonRun {
  pid: number
  version: string
  /** Unix milliseconds. */
  startedAt: number
  /** Where it listens, as origins: `http://127.0.0.1:8025`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
}

const fileOf = (dataDir: string): string => join(dataDir, 'daemon.json')

/** Called when everything listens. */
export function writeDaemonRun(dataDir: string, run: DaemonRun): void {
  const file = fileOf(dataDir)
  // A reader never sees half of it.
  writeFileSync(`${file}.new`, JSON.stringify(run), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Called after a clean stop. */
export function removeDaemonRun(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
}

/** The last run that did not stop cleanly, and whether its process lives. Null: it was stopped, or never started. */
export function readDaemonRun(dataDir: string): { run: DaemonRun; alive: boolean } | null {
  let run: DaemonRun
  try {
    run = JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as DaemonRun
  } catch {
    // No file, or one that nobody can use: nothing is known of a daemon.
    return null
  }
  return { run, alive: isAlive(run.pid) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user lives all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
