/** Entry point of the program: runs a command and sets the exit code. */
import { runProgram } from './commands/program.ts'
import { VERSION } from './assembly/version.ts'

// The reader of a pipe may close it early: `posthaste queue list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

// Loaded only by the commands that need them, so that others start faster.
const adapters = async () => ({
  ...(await import('./assembly/adapters.ts')),
  ...(await import('./assembly/storage.ts')),
})

process.exitCode = await runProgram(process.argv.slice(2), adapters, VERSION)

// Everything is stored by now. Open handles, such as a request to a host that doesn't respond, must not keep the
// process alive.
setTimeout(() => process.exit(), 2000).unref()
