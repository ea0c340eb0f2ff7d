/**
 * Puts the program together: the sources and the packages that they use become a few files of plain JavaScript, in which
 * every function keeps its name (docs/decisions/0019-the-program-is-put-together.md).
 * usage: node scripts/bundle.ts FOLDER
 * FOLDER takes the place of appliance/: config/, package.json, ui/dist/ and the packages of EXTERNAL belong beside it.
 */
import { cpSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import { EXTERNAL } from './bundled.ts'

const project = join(import.meta.dirname, '..')
const sources = join(project, 'appliance')

/** What is started by its file name: the program, its threads, the health check of a container. */
const ENTRIES = [
  'main.ts',
  'healthcheck.ts',
  'intake/compose-worker.ts',
  'intake/message-worker.ts',
  'mime/extract-worker.ts',
  'storage/sqlite/reader.ts',
  'storage/sqlite/writer.ts',
]

/** A file beside the running one, given by name to a thread or process. */
const STARTED = /(new URL\(|'\.\.', )(['"`])([^'"`\s]+)\.ts\2/g

/**
 * All files come into one folder: a place that a source gives relative to its own folder is given relative to that one.
 */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!id.startsWith(sources)) return null
    const folder = relative(sources, dirname(id))
    const own = folder === '' ? 'import.meta.dirname' : `(import.meta.dirname + '/${folder}')`
    return code.replaceAll('import.meta.dirname', own).replace(STARTED, '$1$2$3.js$2')
  },
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/bundle.ts FOLDER')

const bundle = await rolldown({
  cwd: project,
  input: Object.fromEntries(ENTRIES.map((file) => [basename(file, '.ts'), join(sources, file)])),
  platform: 'node',
  external: EXTERNAL.map((name) => new RegExp(`^${name}(/|$)`)),
  plugins: [places],
  logLevel: 'warn',
})
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
})
await bundle.close()
const migrations = join('storage', 'migrations', 'sqlite')
cpSync(join(sources, migrations), join(folder, migrations), { recursive: true })
