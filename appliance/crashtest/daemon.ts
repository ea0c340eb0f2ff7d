/** Starts, watches and kills the daemon under test, a child process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { CRASH_POINT_VARIABLE } from '../watch/crash-points.ts'

const PROGRAM = join(import.meta.dirname, '..', 'main.ts')
const STARTED = '"msg":"started"'
/** Characters of output kept, to show why a daemon exited by itself. */
const TAIL = 4000

/** Returns an environment for children that neither configures nor arms another daemon. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('POSTHASTE_')))
}

/**
 * Starts the program. Compiled code is cached next to the configuration, because the same program is started a thousand
 * times.
 */
const start = (args: string[], config: string, env: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(process.execPath, [PROGRAM, ...args, '--config', config], {
    env: { NODE_COMPILE_CACHE: join(dirname(config), 'compiled'), ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** One run of the daemon. */
export interface Daemon {
  /** Resolves with true when it accepts mail, with false when it exited before. */
  readonly ready: Promise<boolean>
  /** Resolves with the signal or exit code that ended it. */
  readonly ended: Promise<NodeJS.Signals | number>
  readonly isOver: boolean
  /** Deliveries of an earlier run that it found leased but not settled; null when it ended before reporting them. */
  tookOver(): number | null
  /** Returns the end of its output. */
  tail(): string
  /** Sends a signal; does nothing after it has exited. */
  signal(name: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void
}

/** Starts `posthaste serve`. @param point `name:count`, for a daemon that kills itself */
export function startDaemon(config: string, point?: string): Daemon {
  const child = start(['serve'], config, point === undefined ? {} : { [CRASH_POINT_VARIABLE]: point })
  let output = ''
  let tookOver: number | null = null
  let over = false
  child.once('exit', () => (over = true))
  const ready = new Promise<boolean>((resolve) => {
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-TAIL)
      tookOver ??= tookOverIn(output)
      if (output.includes(STARTED)) resolve(true)
    }
    child.stdout!.on('data', read)
    child.stderr!.on('data', read)
    child.once('exit', () => resolve(false))
  })
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as NodeJS.Signals | number)
  return {
    ready,
    ended,
    get isOver() {
      return over
    },
    tookOver: () => tookOver,
    tail: () => output,
    signal: (name) => void child.kill(name),
  }
}

/** Finds the report in the output. It is printed before the start is complete, and only if there are any. */
function tookOverIn(output: string): number | null {
  const said = /"deliveries":(\d+),"msg":"recovered deliveries/.exec(output)
  if (said) return Number(said[1])
  return output.includes(STARTED) ? 0 : null
}

/**
 * Kills the daemon as soon as the database file is written, which only a checkpoint does. Returns a function that stops
 * watching.
 */
export function killAtCheckpoint(dataDir: string, daemon: Daemon): () => void {
  const watcher = watch(join(dataDir, 'posthaste.db'), () => {
    daemon.signal('SIGKILL')
    watcher.close()
  })
  return () => watcher.close()
}

/** Runs a command of the command line next to the daemon; rejects with its output when it fails. */
export async function runCommand(args: string[], config: string): Promise<void> {
  const child = start(args, config)
  let output = ''
  const read = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout!.on('data', read)
  child.stderr!.on('data', read)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`posthaste ${args.join(' ')} ended with ${code}: ${output.trim()}`)
}
