/**
 * Removes bundled packages from a package's node_modules: everything except the packages of EXTERNAL and their
 * dependencies.
 * usage: node keep-external.ts NODE_MODULES
 */
import { globSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { EXTERNAL_PACKAGES } from '../bundled.ts'

const [modules] = process.argv.slice(2)
if (modules === undefined) throw new Error('usage: node keep-external.ts NODE_MODULES')

interface Manifest {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const installed = globSync(['[!@.]*', '@*/*'], { cwd: modules })
const kept = new Set<string>()

function keep(name: string): void {
  if (kept.has(name) || !installed.includes(name)) return
  kept.add(name)
  const manifest = JSON.parse(readFileSync(join(modules!, name, 'package.json'), 'utf8')) as Manifest
  for (const needed of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    keep(needed)
}

EXTERNAL_PACKAGES.forEach(keep)
for (const name of installed) if (!kept.has(name)) rmSync(join(modules, name), { recursive: true })
for (const scope of globSync('@*', { cwd: modules }))
  if (readdirSync(join(modules, scope)).length === 0) rmdirSync(join(modules, scope))
