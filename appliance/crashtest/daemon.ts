/** The daemon under test: a child process that is started, watched and killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { CRASH_POINT_VARIABLE } from '../watch/crash-points.ts'

const PROGRAM = join(import.meta.dirname, '..', 'main.ts')
const STARTED = '"msg":"started"'
/** Of the output, what is kept to show where a daemon ended by itself. */
const TAIL = 4000

/** The environment of a child: nothing that configures or arms another daemon. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('POSTHASTE_')))
}

/** Compiled code is kept beside the configuration: the same program is started a thousand times. */
const start = (args: string[], config: string, env: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(process.execPath, [PROGRAM, ...args, '--config', config], {
    env: { NODE_COMPILE_CACHE: join(dirname(config), 'compiled'), ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** One start of the daemon. */
export interface Daemon {
  /** Resolves with true when it takes mail, with false when it ended before. */
  readonly ready: Promise<boolean>
  /** Resolves with the signal that ended it, or with its exit code. */
  readonly ended: Promise<NodeJS.Signals | number>
  readonly isOver: boolean
  /** Deliveries of an earlier run that it found leased, and not settled; null: it did not come to tell. */
  tookOver(): number | null
  /** The end of what it printed. */
  tail(): string
  /** Sends a signal; nothing happens to one that is over. */
  signal(name: 'SIGKILL' | 'SIGTERM'): void
}

/** Starts `posthaste serve`. @param point `name:count`, for a daemon that is to kill itself */
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

/** It says so before it has started, and nothing where there were none. */
function tookOverIn(output: string): number | null {
  const said = /"deliveries":(\d+),"msg":"recovered deliveries/.exec(output)
  if (said) return Number(said[1])
  return output.includes(STARTED) ? 0 : null
}

/** Kills the daemon as soon as the database file is written to, which only a checkpoint does. Returns what ends the watch. */
export function killAtCheckpoint(dataDir: string, daemon: Daemon): () => void {
  const watcher = watch(join(dataDir, 'posthaste.db'), () => {
    daemon.signal('SIGKILL')
    watcher.close()
  })
  return () => watcher.close()
}

/** Runs one command of the command line beside the daemon; rejects with what it printed when it fails. */
export async function runCommand(args: string[], config: string): Promise<void> {
  const child = start(args, config)
  let output = ''
  const read = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout!.on('data', read)
  child.stderr!.on('data', read)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`posthaste ${args.join(' ')} ended with ${code}: ${output.trim()}`)
}
