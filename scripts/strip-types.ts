/**
 * Strips the types from the sources before tests and tools run them, so that threads start faster
 * (docs/decisions/0019-the-program-is-bundled.md). The remaining code keeps its lines and columns.
 * usage: node scripts/strip-types.ts     writes changed files to .runtime/stripped/, for scripts/stripped.mjs
 */
import { globSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const project = join(import.meta.dirname, '..')
const kept = join(project, '.runtime', 'stripped')

/** Writes the stripped copy of a source. A copy is current if it has the source's modification time. */
function keep(file: string): void {
  const source = join(project, file)
  const copy = join(kept, file)
  const { mtime } = statSync(source)
  if (statSync(copy, { throwIfNoEntry: false })?.mtimeMs === mtime.getTime()) return
  mkdirSync(dirname(copy), { recursive: true })
  writeFileSync(copy, stripTypeScriptTypes(readFileSync(source, 'utf8')))
  utimesSync(copy, mtime, mtime)
}

for (const file of globSync('{appliance,scripts,test}/**/*.ts', { cwd: project })) keep(file)
writeFileSync(join(kept, '.made'), '')
