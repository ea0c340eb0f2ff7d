/** Starts, watches and kills the daemon under test, a child process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { CRASH_POINT_VARIABLE } from '../watch/crash-points.ts'

const PROGRAM = join(import.meta.dirname, '..', 'main.ts')
const STARTED = '"msg":"started"'
/** Number of characters of output to keep, to show why a daemon exited unexpectedly. */
const TAIL = 4000

/** Returns an environment for child processes without variables that configure the daemon or set a crash point. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('POSTHASTE_')))
}

/**
 * Starts the program. Compiled code is cached next to the configuration, because the program is started a thousand
 * times.
 */
const start = (args: string[], config: string, env: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(process.execPath, [PROGRAM, ...args, '--config', config], {
    env: { NODE_COMPILE_CACHE: join(dirname(config), 'compiled'), ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** One run of the daemon. */
export interface Daemon {
  /** Resolves with true when the daemon accepts mail, with false when it exited before. */
  readonly ready: Promise<boolean>
  /** Resolves with the signal or exit code that ended the daemon. */
  readonly ended: Promise<NodeJS.Signals | number>
  readonly isOver: boolean
  /**
   * Number of deliveries that an earlier run had leased but not settled, as this run reported; null when this run ended
   * before reporting it.
   */
  tookOver(): number | null
  /** Returns the end of the daemon's output. */
  tail(): string
  /** Sends a signal; does nothing after the daemon has exited. */
  signal(name: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void
}

/**
 * Starts `posthaste serve`.
 * @param point `name:count`, for a daemon that kills itself at a crash point
 */
export function startDaemon(config: string, point?: string): Daemon {
  const child = start(['serve'], config, point === undefined ? {} : { [CRASH_POINT_VARIABLE]: point })
  let output = ''
  let tookOver: number | null = null
  let over = false
  child.once('exit', () => (over = true))
  const ready = new Promise<boolean>((resolve) => {
    const read = (chunk: Buffer): void => {
      // A chunk may be longer than what is kept, and begin with the lines to look for.
      const all = output + chunk.toString()
      tookOver ??= tookOverIn(all)
      if (all.includes(STARTED)) resolve(true)
      output = all.slice(-TAIL)
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

/**
 * Finds the number of deliveries that the daemon took over, in its output. The number is printed before the start is
 * complete, and only if it isn't 0.
 */
function tookOverIn(output: string): number | null {
  const said = /"deliveries":(\d+),"msg":"recovered deliveries/.exec(output)
  if (said) return Number(said[1])
  return output.includes(STARTED) ? 0 : null
}

/**
 * Kills the daemon as soon as the database file is written, which happens only in a checkpoint. Returns a function that
 * stops watching.
 */
export function killAtCheckpoint(dataDir: string, daemon: Daemon): () => void {
  const watcher = watch(join(dataDir, 'posthaste.db'), () => {
    daemon.signal('SIGKILL')
    watcher.close()
  })
  return () => watcher.close()
}

/** Runs a CLI command while the daemon runs; rejects with its output when it fails. */
export async function runCommand(args: string[], config: string): Promise<void> {
  const child = start(args, config)
  let output = ''
  const read = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout!.on('data', read)
  child.stderr!.on('data', read)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`posthaste ${args.join(' ')} ended with ${code}: ${output.trim()}`)
}
