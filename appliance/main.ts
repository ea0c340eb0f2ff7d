/** The program: arguments go in, an exit code comes out. */
import { runProgram } from './commands/program.ts'
import { VERSION } from './assembly/version.ts'

// The reader of a pipe may have seen enough: `posthaste queue list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

// Loaded by the commands that need them: the others answer sooner.
const adapters = async () => ({
  ...(await import('./assembly/adapters.ts')),
  ...(await import('./assembly/storage.ts')),
})

process.exitCode = await runProgram(process.argv.slice(2), adapters, VERSION)

// All is done and stored: what is left open, such as a request to a host that does not answer, must not keep the process alive.
setTimeout(() => process.exit(), 2000).unref()
