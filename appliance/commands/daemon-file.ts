/** What a running daemon leaves in its data directory, so that `posthaste status` finds it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientUse } from '../watch/metrics.ts'

/** One run of the daemon. */
export interface DaemonRun {
  pid: number
  version: string
  /** Unix milliseconds. */
  startedAt: number
  /** Where it listens, as origins: `http://127.0.0.1:8025`, `smtp://0.0.0.0:25`, `smtps://0.0.0.0:465`. */
  listeners: string[]
}

/** What clients used of a running daemon when it was last written down. */
export interface ClientsNote extends ClientUse {
  /** Unix milliseconds. */
  at: number
}

const fileOf = (dataDir: string): string => join(dataDir, 'daemon.json')
const clientsOf = (dataDir: string): string => join(dataDir, 'clients.json')

/** Called when everything listens. */
export function writeDaemonRun(dataDir: string, run: DaemonRun): void {
  writeWhole(fileOf(dataDir), run)
}

/** Called every few seconds while the daemon runs. */
export function writeClients(dataDir: string, note: ClientsNote): void {
  writeWhole(clientsOf(dataDir), note)
}

/** The last note of a daemon that has not stopped cleanly; null where there is none. */
export function readClients(dataDir: string): ClientsNote | null {
  try {
    return JSON.parse(readFileSync(clientsOf(dataDir), 'utf8')) as ClientsNote
  } catch {
    // No file, or one that nobody can use: nothing is known.
    return null
  }
}

/** A reader never sees half of it. */
function writeWhole(file: string, content: object): void {
  writeFileSync(`${file}.new`, JSON.stringify(content), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Called after a clean stop. */
export function removeDaemonRun(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
  rmSync(clientsOf(dataDir), { force: true })
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
