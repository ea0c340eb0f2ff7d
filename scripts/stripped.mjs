// Loaded first (node --import). Loads the project's sources without their types, as scripts/strip-types.ts stored them.
// Node itself strips a file that has changed since.
import { readFileSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'

const project = new URL('../', import.meta.url).href
const kept = new URL('../.runtime/stripped/', import.meta.url).href

function strippedSource(url) {
  if (!url.startsWith(project) || !url.endsWith('.ts')) return undefined
  const copy = new URL(kept + url.slice(project.length))
  const made = statSync(copy, { throwIfNoEntry: false })
  return made?.mtimeMs === statSync(new URL(url)).mtime.getTime() ? readFileSync(copy) : undefined
}

registerHooks({
  load(url, context, next) {
    const source = strippedSource(url)
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})
