import http from 'node:http'
import type { Plugin } from 'rolldown'

/**
 * Packages that the bundle (scripts/bundle.ts) leaves in node_modules: native ones, and those loaded only on demand.
 */
export const EXTERNAL_PACKAGES = ['better-sqlite3', '@node-rs/argon2', 'chrono-node']

/** Files that are started by name: the program, its threads, and the container's health check. */
export const ENTRY_POINTS = [
  'main.ts',
  'commands/healthcheck.ts',
  'http/json-worker.ts',
  'inbound/reading/returned-worker.ts',
  'inbound/reading/report-worker.ts',
  'intake/compose-worker.ts',
  'mime/mime-worker.ts',
  'storage/postgres/postgres-reader.ts',
  'storage/postgres/postgres-wire.ts',
  'storage/postgres/postgres-writer.ts',
  'storage/sqlite/reader.ts',
  'storage/sqlite/writer.ts',
]

/**
 * Accesses `node:http` through its default export. Node creates all named exports of a module on import, and the
 * WebSocket export of `node:http` loads all of fetch (13 MB).
 */
export const httpDefaultExportPlugin: Plugin = {
  name: 'http-alone',
  resolveId: (source, _, { kind }) =>
    kind === 'import-statement' && /^(node:)?http$/.test(source) ? '\0http' : null,
  load(id) {
    if (id !== '\0http') return null
    const names = Object.entries(Object.getOwnPropertyDescriptors(http)).filter(([, one]) => 'value' in one)
    return `const http = process.getBuiltinModule('node:http')
export default http
export const { ${names.map(([name]) => name).join(', ')} } = http`
  },
}

/**
 * Escapes non-Latin-1 characters. A single one makes Node store the whole file with two bytes per character. Escapes
 * mean the same in strings, patterns and names.
 */
export const nonLatin1EscapePlugin: Plugin = {
  name: 'one-byte',
  generateBundle(_, files) {
    for (const file of Object.values(files)) if (file.type === 'chunk') file.code = escaped(file.code)
  },
}

function escaped(code: string): string {
  return code.replaceAll(/(\\*)([^\0-\x7f])/g, (_, slashes: string, unit: string) => {
    if (slashes.length % 2 === 1) throw new Error(`a backslash before ${unit}, which an escape would change`)
    return slashes + String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0')
  })
}
