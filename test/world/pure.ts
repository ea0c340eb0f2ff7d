import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Matches imports that remain after types are stripped. */
const IMPORT = /^(?:import|export)(?! type )(?:[^'"=;()]*? from)? '([^']+)'/gm
/** Modules that use sockets, processes, threads, databases or test servers, measure the own process, or create IDs. */
const IMPURE =
  /^node:(?:child_process|cluster|dgram|dns|dns\/promises|http|http2|https|tls|v8|worker_threads)$|^(?:better-sqlite3|fastify|playwright-core)$|\/test\/world\/(?!fast-check\.ts)|\/mail\/ids\.ts$/

/** Moves a clock. */
const ADVANCES = /\.advance\(|clock\.set\(/
/** Replaces globals, or measures memory, time or handles. */
const MOVES_PROCESS =
  /\bvi\.(?:use|s(?:py|tub|et))|\bprocess\.|\bperformance\.|\bgc\(|\bT0\b|from 'node:(?:perf_hooks|async_hooks|diagnostics_channel)'/
/** Modules that do these things, and those with daemons, browsers or threads that a test controls. */
const MOVING =
  /^node:(?:cluster|v8|worker_threads)$|^playwright-core$|\/test\/world\/(?:cost|daemon|hidden-limit|jumping-clock|killable|loop|postfix|sandbox-daemon|seeded|simulation|small-disk)/

/**
 * Returns unit tests that can share processes although they use sockets, databases and processes: none moves a clock.
 * IDs from `newId` never go backwards within a process, so a clock that was moved would affect the files after it.
 * `test/world/left-behind.ts` fails files for which this isn't true.
 * @param root the project's folder
 */
export function sharingFiles(root: string): string[] {
  const isSharing = (file: string): boolean => {
    const reached = new Set([file])
    // The set grows during the iteration.
    for (const one of reached)
      for (const found of readImports(one)) if (!found.includes('/appliance/')) reached.add(found)
    const isMoving = (one: string): boolean =>
      MOVING.test(one) || (ADVANCES.test(textOf(one)) && !one.includes('/test/world/'))
    return !MOVES_PROCESS.test(textOf(file)) && ![...reached].some(isMoving)
  }
  return globSync('test/unit/**/*.test.ts', { cwd: root }).filter((file) => isSharing(join(root, file)))
}

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

/** Returns the text of a source file, and nothing for the name of a package. */
const textOf = (file: string): string =>
  file.endsWith('.ts') && existsSync(file) ? readFileSync(file, 'utf8') : ''

function readImports(file: string): string[] {
  const names = [...textOf(file).matchAll(IMPORT)].map(([, name]) => name!)
  return names.map((name) => (name.startsWith('.') ? join(dirname(file), name) : name))
}

/**
 * Returns tests that reset or mock modules with Vitest, or need the program's own cost of hashing passwords.
 * @param root the project's folder
 */
export const reloadingFiles = (root: string): string[] =>
  globSync('test/**/*.test.ts', { cwd: root }).filter((file) =>
    /\bvi\.(?:resetModules|(?:do)?[mM]ock)\(|\/accounts\/hasher\.ts'/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  )
