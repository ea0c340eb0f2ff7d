/**
 * Takes the types out of the sources before tests and tools run from them, so that the threads of a process do not do it
 * while they start (docs/decisions/0019-the-program-is-put-together.md). What is left stands in its line and column.
 * usage: node scripts/strip-types.ts     what is new, into .runtime/stripped/, for scripts/stripped.mjs
 */
import { globSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const project = join(import.meta.dirname, '..')
const kept = join(project, '.runtime', 'stripped')

/** The time of the source is the mark by which a copy is known to be of it. */
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
