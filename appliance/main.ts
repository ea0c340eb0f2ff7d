/** The program: arguments go in, an exit code comes out. Adapters are loaded when a command needs them. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Adapters } from './commands/context.ts'
import { runProgram } from './commands/program.ts'
import { VERSION } from './version.ts'

const adapters: Adapters = {
  async openStorage(config) {
    const { openSqlite } = await import('./storage/sqlite/sqlite.ts')
    return openSqlite({ dataDir: config.data_dir })
  },
  async openResolver(config, clock, authoritativePort) {
    const { createResolver } = await import('./dns/resolver.ts')
    return createResolver({
      servers: config.dns.servers,
      clock,
      ...(authoritativePort === undefined ? {} : { authoritativePort }),
    })
  },
  async schemaVersion() {
    const files = await readdir(join(import.meta.dirname, 'storage', 'migrations', 'sqlite'))
    return Math.max(...files.map((name) => Number.parseInt(name, 10)).filter(Number.isInteger))
  },
}

// The reader of a pipe may have seen enough: `posthaste queue list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runProgram(process.argv.slice(2), adapters, VERSION)
