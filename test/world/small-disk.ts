/** A small file system of its own, to be filled up. */
import { execFileSync } from 'node:child_process'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Mounts one of so many megabytes on a folder; undefined where this user may not. */
export function mountSmall(folder: string, megabytes: number): string | undefined {
  try {
    const args = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]
    execFileSync('mount', args, { stdio: 'ignore' })
    return folder
  } catch {
    return undefined // Not root, or a container without the right.
  }
}

export const unmount = (folder: string): void => void execFileSync('umount', ['-l', folder])

const fillerOf = (disk: string): string => join(disk, 'filler')

/** Takes everything but so many bytes. */
export async function fillDisk(disk: string, left: number): Promise<void> {
  await emptyDisk(disk)
  const { bavail, bsize } = await statfs(disk)
  const bytes = Math.max(0, bavail * bsize - left)
  // The file grows until the disk is full where nothing is to be left.
  await writeFile(fillerOf(disk), Buffer.alloc(left === 0 ? bytes + 4096 : bytes)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  })
}

/** Gives back what `fillDisk` took. */
export const emptyDisk = (disk: string): Promise<void> => rm(fillerOf(disk), { force: true })
