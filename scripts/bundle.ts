/**
 * Bundles the program: the sources and their packages become a few files of plain JavaScript. Functions keep their
 * names (docs/decisions/0019-the-program-is-bundled.md).
 * usage: node scripts/bundle.ts FOLDER
 * Replaces FOLDER/appliance. FOLDER must contain config/, package.json, ui/dist/ and the packages of EXTERNAL.
 */
import { cpSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import { ENTRY_POINTS, EXTERNAL_PACKAGES, httpDefaultExportPlugin, nonLatin1EscapePlugin } from './bundled.ts'

const project = join(import.meta.dirname, '..')
const sources = join(project, 'appliance')

/** Matches a sibling source file that is passed by name to a thread or process. */
const STARTED = /(new URL\(|'\.\.', )(['"`])([^'"`\s]+)\.ts\2/g

/** Adjusts relative paths: all files end up in one folder, so paths relative to a source's folder change. */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    if (!id.startsWith(sources)) return null
    const folder = relative(sources, dirname(id))
    const own = folder === '' ? 'import.meta.dirname' : `(import.meta.dirname + '/${folder}')`
    return code.replaceAll('import.meta.dirname', own).replace(STARTED, '$1$2$3.js$2')
  },
}

/**
 * Packages of Fastify that aren't used here: requests without a socket, serializers of schemas, and routes from files.
 */
const UNUSED = ['light-my-request', '@fastify/fast-json-stringify-compiler', 'glob']

const unused: Plugin = {
  name: 'unused',
  resolveId: (source) => (UNUSED.includes(source) ? '\0unused' : null),
  load: (id) =>
    id === '\0unused'
      ? `exports.glob = () => { throw new Error('The bundle leaves this out: see scripts/bundle.ts.') }`
      : null,
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/bundle.ts FOLDER')

const bundle = await rolldown({
  cwd: project,
  input: Object.fromEntries(ENTRY_POINTS.map((file) => [basename(file, '.ts'), join(sources, file)])),
  platform: 'node',
  external: EXTERNAL_PACKAGES.map((name) => new RegExp(`^${name}(/|$)`)),
  plugins: [places, httpDefaultExportPlugin, unused, nonLatin1EscapePlugin],
  logLevel: 'warn',
})
await bundle.write({
  dir: folder,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  comments: { annotation: false, jsdoc: false, legal: true },
})
await bundle.close()
const migrations = join('storage', 'migrations')
// Removes the old folder first, because the program applies every migration it finds.
rmSync(join(folder, migrations), { recursive: true, force: true })
cpSync(join(sources, migrations), join(folder, migrations), { recursive: true })
cpSync(join(sources, 'api', 'openapi.json'), join(folder, 'api', 'openapi.json'))
