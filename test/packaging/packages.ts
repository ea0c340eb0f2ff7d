import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { must } from './machine.ts'

/** Packages as `scripts/package` builds them, and a clean Debian root to install them in. */

const project = join(import.meta.dirname, '..', '..')

/** What one build made; names of files in the folder. */
export interface Built {
  folder: string
  deb: string
  tarball: string
}

/** Builds a version into a folder. */
export async function build(version: string, folder: string, ...options: string[]): Promise<Built> {
  await must(join(project, 'scripts/package'), ['--version', version, '--out', folder, ...options])
  const made = readdirSync(folder)
  const named = (end: string): string => made.find((name) => name.endsWith(end))!
  return { folder, deb: named('.deb'), tarball: named('.tar.gz') }
}

/** Makes a Debian root with systemd and nothing that a small server does not have. Fetches from Debian's mirror. */
export async function makeRoot(root: string): Promise<void> {
  const include = '--include=systemd,systemd-sysv,dbus,libstdc++6,ca-certificates,procps,man-db'
  await must('mmdebstrap', ['--variant=minbase', include, 'bookworm', root])
  chmodSync(root, 0o755)
}

/** Copies files to /packages of a root. */
export function carry(root: string, folder: string, names: string[]): void {
  const shelf = join(root, 'packages')
  if (!existsSync(shelf)) mkdirSync(shelf)
  for (const name of names) cpSync(join(folder, name), join(shelf, name))
}
