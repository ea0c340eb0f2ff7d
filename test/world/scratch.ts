import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where files in memory are kept on Linux. */
const MEMORY = '/dev/shm'
/** Free memory below which the files of the tests go to the disk. A whole run holds less than 1 GB at a time. */
const LEAST_FREE = 4 * 1024 ** 3

/** Whether there is room in memory, and programs may be run from there. */
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
 * Gives a run of the tests a temporary directory of its own, in memory where it fits: thousands of commits would each wait some
 * milliseconds for a disk. Removes it when the run ends, with what tests left behind.
 */
export function setup(): () => void {
  const directory = mkdtempSync(join(fitsMemory() ? MEMORY : tmpdir(), 'posthaste-tests-'))
  // Programs of other users, such as Postfix, have to get through.
  chmodSync(directory, 0o755)
  process.env.TMPDIR = directory
  // Hundreds of daemons, commands, and test files are started from the same code; part of it is compiled already.
  process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '..', '..', '.runtime', 'bundled-compiled')
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}
