import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a running sandbox tells the commands beside it. */
export interface Running {
  /** The sandbox's name server, `ip:port`. */
  dns: string
  /** Port of its mail exchangers. */
  deliveryPort: number
  pid: number
}

/** Where a running sandbox writes that, in its data directory. */
export function runningFile(dataDir: string): string {
  return join(dataDir, 'running.json')
}

/** The sandbox that runs on this data directory; undefined when none does. */
export function readRunning(dataDir: string): Running | undefined {
  try {
    const running = JSON.parse(readFileSync(runningFile(dataDir), 'utf8')) as Running
    process.kill(running.pid, 0)
    return running
  } catch {
    // No file, half a file, or a process that is gone: all mean that no sandbox runs.
    return undefined
  }
}
