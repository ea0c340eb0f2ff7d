/**
 * Prints the package's copyright file: our license, the runtime's, those of all npm packages in a folder, and of other
 * packages.
 * usage: node copyright.ts LICENSE RUNTIME_LICENSE NODE_MODULES [PACKAGE ...] > copyright
 */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [own, runtime, modules, ...further] = process.argv.slice(2)
if (own === undefined || runtime === undefined || modules === undefined)
  throw new Error('usage: node copyright.ts LICENSE RUNTIME_LICENSE NODE_MODULES [PACKAGE ...]')

interface Manifest {
  name?: string
  version?: string
  license?: string | { type?: string }
}

/** License texts that Debian ships once for all packages, and their locations (Debian Policy §12.5). */
const COMMON: { text: RegExp; name: string }[] = [
  {
    name: 'Apache-2.0',
    text: /Apache License\s+Version 2\.0, January 2004[^]*?END OF TERMS AND CONDITIONS/g,
  },
  {
    name: 'GPL-2',
    text: /GNU GENERAL PUBLIC LICENSE\s+Version 2, June 1991[^]*?POSSIBILITY OF SUCH DAMAGES\./g,
  },
]

/** Replaces common license texts with their location. */
function shortened(licence: string): string {
  const place = (name: string): string =>
    `The text is in /usr/share/common-licenses/${name} on Debian systems.`
  return COMMON.reduce((rest, { text, name }) => rest.replace(text, place(name)), licence)
}

/** Returns a package's license files, or the license named in its manifest if there is no file. */
function licenceOf(folder: string, { license }: Manifest): string {
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
  const named = typeof license === 'string' ? license : (license?.type ?? 'not stated')
  const texts = files.sort().map((name) => readFileSync(join(folder, name), 'utf8').trim())
  return texts.length > 0 ? texts.join('\n\n') : `Licence named in its package.json: ${named}`
}

function section(title: string, text: string): string {
  return `${'-'.repeat(78)}\n${title}\n\n${shortened(text).trim()}\n`
}

const packages = globSync('**/package.json', { cwd: modules })
  .map((file) => ({ folder: join(modules, dirname(file)), file }))
  // Other package.json files in a package only set the module type.
  .filter(({ file }) => /(^|node_modules\/)(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
  .map(({ folder }) => folder)
  .concat(further)
  .map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    return { title: `${manifest.name} ${manifest.version}`, manifest, folder }
  })
  .filter(({ manifest }) => manifest.name !== undefined && manifest.version !== undefined)
  .sort((a, b) => (a.title < b.title ? -1 : 1))

const known = new Set<string>()
const parts = packages.flatMap(({ title, manifest, folder }) => {
  if (known.has(title)) return []
  known.add(title)
  return [section(title, licenceOf(folder, manifest))]
})
process.stdout.write(
  [
    'Posthaste, an email delivery service. Its own code is under the Apache License 2.0:\n',
    'On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n',
    readFileSync(own, 'utf8')
      .split('\n')
      .filter((line) => /^\s*Copyright \d/.test(line))
      .join('\n'),
    section('Node.js (lib/posthaste/runtime/node)', readFileSync(runtime, 'utf8')),
    ...parts,
  ].join('\n'),
)
