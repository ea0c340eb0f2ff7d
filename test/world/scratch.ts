import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The in-memory file system on Linux. */
const MEMORY = '/dev/shm'
/** Minimum free memory for keeping test files in memory. A whole run uses less than 1 GB at a time. */
const LEAST_FREE = 4 * 1024 ** 3

/** Reports whether enough memory is free and the file system allows executing programs. */
function fitsMemory(): boolean {
  if (!existsSync(MEMORY) || process.availableMemory() < LEAST_FREE) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .findLast(([, path]) => path === MEMORY)
  return bavail * bsize >= LEAST_FREE && mount !== undefined && !mount[3]!.split(',').includes('noexec')
}

/**
 * Gives a test run its own temporary directory, in memory if possible: on disk, each of thousands of commits would wait
 * several milliseconds. Removes it at the end, with any files that tests left behind.
 */
export function setup(): () => void {
  const directory = mkdtempSync(join(fitsMemory() ? MEMORY : tmpdir(), 'posthaste-tests-'))
  // Programs that run as other users, such as Postfix, need access.
  chmodSync(directory, 0o755)
  process.env.TMPDIR = directory
  // Hundreds of daemons, commands and test files load the same code. The cache avoids compiling it each time.
  process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '..', '..', '.runtime', 'bundled-compiled')
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}
