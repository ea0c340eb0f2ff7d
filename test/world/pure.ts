import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Matches imports that remain after types are stripped. */
const IMPORT = /^(?:import|export)(?! type )(?:[^'"=;()]*? from)? '([^']+)'/gm
/** Modules that use sockets, processes, threads, databases or test servers, measure the own process, or create IDs. */
const IMPURE =
  /^node:(?:child_process|cluster|dgram|dns|dns\/promises|http|http2|https|tls|v8|worker_threads)$|^(?:better-sqlite3|fastify|playwright-core)$|\/test\/world\/(?!fast-check\.ts)|\/mail\/ids\.ts$/

/**
 * Returns unit tests that use no socket, process, thread or database, and create no IDs. IDs from `newId` never go
 * backwards within a process, so test files with clocks of their own can't share a process.
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
    // The set grows during the iteration.
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

/**
 * Returns tests that reset or mock modules with Vitest.
 * @param root the project's folder
 */
export const reloadingFiles = (root: string): string[] =>
  globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /\bvi\.(?:resetModules|(?:do)?[mM]ock)\(/.test(readFileSync(join(root, file), 'utf8')),
  )
