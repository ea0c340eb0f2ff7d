import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { storageSettings } from './engine.ts'
import { PROGRAM } from './program.ts'

/** The daemon as a separate process that tests can kill. */
export interface Daemon {
  readonly url: string
  readonly pid: number
  /** Everything the daemon has printed so far. */
  output(): string
  /** Sends a signal and waits for the exit. Returns the exit code, or null if a signal killed the process. */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** Waits until the process ends by itself. Returns the signal that ended it. */
  died(): Promise<NodeJS.Signals | null>
}

/** A start takes one second, but more than 20 on a machine that runs other tests at the same time. */
const START_MS = 90_000

/** Drops the hooks that tests use to load sources; the bundled program doesn't need them. */
const ownEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, NODE_OPTIONS: '' })

/** Writes a configuration file. Values must be plain TOML values, and tables must not be nested. */
export async function writeConfig(file: string, given: Record<string, unknown>): Promise<void> {
  const storage = await storageSettings(String(given.data_dir), given.storage ?? {})
  const config = { ...given, storage }
  const value = (item: unknown): string => JSON.stringify(item)
  const top = Object.entries(config).filter(([, item]) => typeof item !== 'object')
  const tables = Object.entries(config).filter(([, item]) => typeof item === 'object') as [string, object][]
  const lines = [
    ...top.map(([key, item]) => `${key} = ${value(item)}`),
    ...tables.flatMap(([name, table]) => [
      `[${name}]`,
      ...Object.entries(table).map(([key, item]) => `${key} = ${value(item)}`),
    ]),
  ]
  await writeFile(file, lines.join('\n') + '\n')
}

/**
 * Starts `posthaste serve` and waits until it reports its listeners.
 * @param env variables in addition to those of this process
 */
export async function startDaemon(
  configFile: string,
  program = PROGRAM,
  env: NodeJS.ProcessEnv = {},
): Promise<Daemon> {
  const child: ChildProcess = spawn(process.execPath, [program, 'serve', '--config', configFile], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...(program === PROGRAM ? ownEnvironment() : process.env), ...env },
  })
  const ended = once(child, 'exit')
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`the daemon did not start: ${output}`)), START_MS)
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const started = /"url":"(http:[^"]+)"/.exec(output)
      if (started) {
        clearTimeout(late)
        resolve(started[1]!)
      }
    }
    child.stdout!.on('data', read)
    child.stderr!.on('data', read)
    child.once('exit', (code) => reject(new Error(`the daemon ended with ${code}: ${output}`)))
  })
  return {
    url,
    pid: child.pid!,
    output: () => output,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal)
        await ended
      }
      return child.exitCode
    },
    async died() {
      await ended
      return child.signalCode
    },
  }
}

/**
 * Runs one CLI command. `input` is its standard input.
 * @param env variables in addition to those of this process
 */
export async function run(
  args: string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...ownEnvironment(), ...env } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}
