import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/**
 * Builds the dashboard in place. Other tests may be serving files from there. File names contain content hashes, so
 * identical sources overwrite themselves and nothing is emptied.
 * @param to a separate folder, which no other build changes
 */
export async function buildDashboard(to = 'dist'): Promise<void> {
  const root = fileURLToPath(new URL('../../ui', import.meta.url))
  const settings = { root, configFile: `${root}/vite.config.ts`, logLevel: 'error' } as const
  await build({ ...settings, build: { outDir: to, emptyOutDir: false } })
}

/**
 * Builds the dashboard into a folder for this test file only, which is removed when the process ends. Returns the
 * folder.
 */
export async function ownDashboard(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-dashboard-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await buildDashboard(folder)
  return folder
}
