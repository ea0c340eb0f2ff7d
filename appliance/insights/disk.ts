/** Checks the disk of the data directory: free space, and the time for a durable write. */
import { open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Finding } from '../mail/finding.ts'

/** The measurements, in bytes and counts. File systems without an inode table report 0 inodes. */
export interface DiskFacts {
  path: string
  space: { free: number; total: number; inodesFree: number; inodes: number } | { note: string }
  /** Milliseconds to write and sync 4 KiB, or why that failed; null if the directory doesn't exist yet. */
  write: { ms: number } | { note: string } | null
}

const MIB = 1024 * 1024
const GIB = 1024 * MIB
/** Mail is refused when the disk is full: below these shares of space or inodes, or below this many bytes. */
const FAIL = { share: 0.02, bytes: 256 * MIB }
const WARN = { share: 0.1, bytes: 2 * GIB }
/** Every commit waits for the disk. An SSD takes 1 to 10 ms. */
const SLOW_MS = 100

/** Measures the disk. Never rejects. */
export async function measureDisk(dataDir: string): Promise<DiskFacts> {
  const write = await tryWriting(dataDir)
  return { path: dataDir, space: await measureSpace(dataDir), write }
}

async function measureSpace(path: string): Promise<DiskFacts['space']> {
  try {
    const { bavail, bsize, blocks, ffree, files } = await statfs(path)
    return { free: bavail * bsize, total: blocks * bsize, inodesFree: ffree, inodes: files }
  } catch (error) {
    // Before the first start: measure the disk of the parent directory.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && path !== dirname(path))
      return measureSpace(dirname(path))
    return { note: (error as Error).message }
  }
}

async function tryWriting(dataDir: string): Promise<DiskFacts['write']> {
  const file = join(dataDir, `doctor-${process.pid}.tmp`)
  try {
    const handle = await open(file, 'wx', 0o600)
    try {
      const begun = performance.now()
      await handle.write(Buffer.alloc(4096))
      await handle.sync()
      return { ms: performance.now() - begun }
    } finally {
      await handle.close()
      await rm(file, { force: true })
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : { note: (error as Error).message }
  }
}

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`
const percent = (part: number, whole: number): number => Math.floor((100 * part) / whole)

/** Evaluates the measurements. */
export function evaluateDisk({ path, space, write }: DiskFacts): Finding {
  const about = { id: 'disk', title: `Disk of ${path}` }
  if ('note' in space)
    return {
      ...about,
      status: 'failed',
      found: `${path} cannot be read: ${space.note}.`,
      advice: 'Correct data_dir or its permissions.',
    }
  if (write !== null && 'note' in write)
    return {
      ...about,
      status: 'failed',
      found: `${path} is not writable: ${write.note}.`,
      advice:
        "The server cannot accept mail. Free some disk space, or make the service's user the owner of the directory.",
    }
  const { free, total, inodes, inodesFree } = space
  const beneath = ({ share, bytes }: typeof FAIL): boolean =>
    free < Math.min(bytes, total / 2) || free < total * share || (inodes > 0 && inodesFree < inodes * share)
  const room = `${gib(free)} of ${gib(total)} free${inodes > 0 ? `, ${percent(inodesFree, inodes)}% of its inodes` : ''}`
  const low = beneath(FAIL) ? 'failed' : beneath(WARN) ? 'warning' : null
  if (low !== null)
    return {
      ...about,
      status: low,
      found: `${room}.`,
      advice:
        'The server accepts no mail when the disk is full. Free some space, or move data_dir to a larger disk.',
    }
  if (write === null)
    return {
      ...about,
      status: 'ok',
      found: `${room}; the directory is created at the first start.`,
      advice: null,
    }
  const speed = `a durable write takes ${write.ms < 10 ? write.ms.toFixed(1) : Math.round(write.ms)} ms`
  if (write.ms > SLOW_MS)
    return {
      ...about,
      status: 'warning',
      found: `${room}; ${speed}, which is slow.`,
      advice:
        'Each accepted email waits for a disk write. Put data_dir on a local SSD, not on a network file system.',
    }
  return { ...about, status: 'ok', found: `${room}; ${speed}.`, advice: null }
}
