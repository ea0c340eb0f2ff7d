import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Imports that are left when the types are gone. */
const IMPORT = /^(?:import|export)(?! type )(?:[^'"=;()]*? from)? '([^']+)'/gm
/** Sockets, processes, threads, databases, servers of the tests, measurements of the own process, and IDs. */
const IMPURE =
  /^node:(?:child_process|cluster|dgram|dns|dns\/promises|http|http2|https|tls|v8|worker_threads)$|^(?:better-sqlite3|fastify|playwright-core)$|\/test\/world\/(?!fast-check\.ts)|\/mail\/ids\.ts$/

/**
 * Unit tests that reach no socket, process, thread or database, and make no ID: `newId` never goes back within a process, so
 * files with clocks of their own can't share it.
 * @param root the project's folder
 */
export function pureFiles(root: string): string[] {
  const read = new Map<string, string[]>()
  const importsOf = (file: string): string[] => {
    const imports = read.get(file) ?? readImports(file)
    read.set(file, imports)
    return imports
  }
  const isPure = (file: string): boolean => {
    const reached = new Set([file])
    // The set grows while it is walked.
    for (const one of reached) for (const found of importsOf(one)) reached.add(found)
    return ![...reached].some((one) => IMPURE.test(one))
  }
  return globSync('test/unit/**/*.test.ts', { cwd: root }).filter((file) => isPure(join(root, file)))
}

function readImports(file: string): string[] {
  if (!file.endsWith('.ts') || !existsSync(file)) return []
  const names = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, name]) => name!)
  return names.map((name) => (name.startsWith('.') ? join(dirname(file), name) : name))
}

/** Tests that make Vitest load modules again or replace them. @param root the project's folder */
export const reloadingFiles = (root: string): string[] =>
  globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /\bvi\.(?:resetModules|(?:do)?[mM]ock)\(/.test(readFileSync(join(root, file), 'utf8')),
  )
