import type { Plugin } from 'rolldown'

/** What the bundle (scripts/bundle.ts) leaves in node_modules: native parts, and what is loaded only when somebody needs it. */
export const EXTERNAL = ['better-sqlite3', '@node-rs/argon2', 'chrono-node']

/** Files that are started by name: the program, its threads, the container's health check. */
export const ENTRIES = [
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
 * One character outside of Latin-1 makes Node keep a whole file with two bytes a character, and there are always some:
 * they are written as escapes, which mean the same in texts, patterns and names.
 */
export const oneByte: Plugin = {
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
