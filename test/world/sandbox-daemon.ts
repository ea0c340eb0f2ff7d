import { spawn, type ChildProcess } from 'node:child_process'
import { PROGRAM } from './program.ts'

/** The sandbox as a process of its own, to be put under faults. */
export interface SandboxDaemon {
  readonly url: string
  readonly pid: number
  readonly apiKey: string
  /** Everything it printed so far, one JSON object a line but for the welcome. */
  output(): string
  /** Answers with status and body; rejects when the connection breaks. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>
  /** Sends a signal and waits for the end; the exit code, null after a kill. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export interface SandboxDaemonOptions {
  dataDir: string
  /** Further environment variables: configuration keys, `NODE_OPTIONS`, `LD_PRELOAD`. */
  env?: Record<string, string>
  /** Shell words before the program, such as `ulimit -n 80;`. */
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

/** Starts `posthaste serve --sandbox` and waits for its welcome. Rejects with what it printed when it ends before. */
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
