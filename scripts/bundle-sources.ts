/**
 * Bundles the sources for tests: each file of appliance/ becomes a few exports of one large file. A test process loads
 * it in a quarter of the time of 800 files (docs/decisions/0019-the-program-is-bundled.md). Tests import the sources as
 * usual; scripts/bundled-sources.mjs redirects the imports.
 * usage: node scripts/bundle-sources.ts FOLDER     replaces FOLDER
 */
import { globSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown, type CodeSplittingNameFunction, type Plugin } from 'rolldown'
import { ENTRY_POINTS, EXTERNAL_PACKAGES, httpDefaultExportPlugin, nonLatin1EscapePlugin } from './bundled.ts'

const project = join(import.meta.dirname, '..')
const sources = join(project, 'appliance')

/** Resolves paths relative to a source file's original location. */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!id.startsWith(sources) || !code.includes('import.meta')) return null
    return code
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
  },
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/bundle-sources.ts FOLDER')

// Programs and threads start working when they are loaded, so they are not bundled.
const files = globSync('**/*.ts', { cwd: sources }).filter((file) => !ENTRY_POINTS.includes(file))
const bundle = await rolldown({
  cwd: project,
  input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), join(sources, file)])),
  platform: 'node',
  external: EXTERNAL_PACKAGES.map((name) => new RegExp(`^${name}(/|$)`)),
  preserveEntrySignatures: 'strict',
  plugins: [places, httpDefaultExportPlugin, nonLatin1EscapePlugin],
  // Disable this warning, which is only relevant for programs that are loaded in parts.
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
})
/** Modules that are loaded immediately when a source is imported. */
const loaded = new Set<string>()

/** Puts these modules into one file. Rolldown creates separate files for modules that are imported on demand. */
const chunkOf: CodeSplittingNameFunction = (id, graph) => {
  if (loaded.size === 0) {
    for (const file of files) loaded.add(join(sources, file))
    // `loaded` grows during this loop, which therefore also visits the imports of imports.
    for (const one of loaded)
      for (const imported of graph.getModuleInfo(one)?.importedIds ?? []) loaded.add(imported)
  }
  return loaded.has(id) ? 'all' : null
}

rmSync(folder, { recursive: true, force: true })
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  codeSplitting: { groups: [{ name: chunkOf, debugName: 'all' }] },
  comments: { annotation: false, jsdoc: false, legal: false },
})
await bundle.close()
