import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/**
 * Builds the dashboard into its place. Files of other tests may be served from there at this moment: the names carry hashes
 * of the content, so the same sources are written over themselves and nothing is emptied.
 * @param to a folder of one's own instead, which no other build changes
 */
export async function buildDashboard(to = 'dist'): Promise<void> {
  const root = fileURLToPath(new URL('../../ui', import.meta.url))
  const settings = { root, configFile: `${root}/vite.config.ts`, logLevel: 'error' } as const
  await build({ ...settings, build: { outDir: to, emptyOutDir: false } })
}

/** Builds the dashboard into a folder of this test file alone, and returns it; it goes with the process. */
export async function ownDashboard(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-dashboard-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await buildDashboard(folder)
  return folder
}
