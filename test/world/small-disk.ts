/** A small file system that tests can fill up. */
import { execFileSync } from 'node:child_process'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Mounts a file system of this size on a folder. Returns undefined if the user isn't allowed to. */
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

/** Fills the disk except for `left` bytes. */
export async function fillDisk(disk: string, left: number): Promise<void> {
  await emptyDisk(disk)
  const { bavail, bsize } = await statfs(disk)
  const bytes = Math.max(0, bavail * bsize - left)
  // With nothing left to keep free, the file grows until the disk is full.
  await writeFile(fillerOf(disk), Buffer.alloc(left === 0 ? bytes + 4096 : bytes)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  })
}

/** Frees the space that `fillDisk` used. */
export const emptyDisk = (disk: string): Promise<void> => rm(fillerOf(disk), { force: true })
