import { spawn, type ChildProcess } from 'node:child_process'
import { PROGRAM } from './program.ts'

/** The sandbox as a separate process, for fault injection. */
export interface SandboxDaemon {
  readonly url: string
  readonly pid: number
  readonly apiKey: string
  /** Everything it has printed so far: one JSON object per line, except for the welcome text. */
  output(): string
  /** Resolves with status and body. Rejects if the connection breaks. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>
  /** Sends a signal and waits for the exit. Returns the exit code, or null if a signal killed the process. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export interface SandboxDaemonOptions {
  dataDir: string
  /** Additional environment variables: configuration keys, `NODE_OPTIONS`, `LD_PRELOAD`. */
  env?: Record<string, string>
  /** Shell code to run before the program, such as `ulimit -n 80;`. */
  before?: string
}

function spawnSandbox({ dataDir, env = {}, before = '' }: SandboxDaemonOptions): ChildProcess {
  return spawn('/bin/sh', ['-c', `${before} exec "$0" "$1" serve --sandbox`, process.execPath, PROGRAM], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      POSTHASTE_DATA_DIR: dataDir,
      POSTHASTE_HTTP__LISTEN: '127.0.0.1:0',
      POSTHASTE_LIMITS__RATE_PER_SECOND: '1000000',
      POSTHASTE_LOG__LEVEL: 'debug',
      ...env,
    },
  })
}

/**
 * Starts `posthaste serve --sandbox` and waits for the welcome text. If the process ends earlier, rejects with its
 * output.
 */
export async function startSandboxDaemon(options: SandboxDaemonOptions): Promise<SandboxDaemon> {
  const child = spawnSandbox(options)
  let output = ''
  const ended = new Promise<number | null>((resolve) => void child.once('exit', (code) => resolve(code)))
  const [url, apiKey] = await new Promise<[string, string]>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString()
      const welcome = /curl (http:\S+)\/emails[^]*?Bearer (\S+?)'/.exec(output)
      if (welcome) resolve([welcome[1]!, welcome[2]!])
    }
    child.stdout!.on('data', read)
    child.stderr!.on('data', read)
    child.once('close', (code) => reject(new Error(`the sandbox ended with ${code}: ${output}`)))
  })
  return {
    url,
    apiKey,
    pid: child.pid!,
    output: () => output,
    async call(method, path, body) {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
      const sent = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
      const response = await fetch(`${url}${path}`, sent)
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) }
    },
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}
