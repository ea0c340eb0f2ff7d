import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll } from 'vitest'

const made: string[] = []

/** Creates a directory for a test. It is removed after the file's tests. */
export async function makePlace(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'posthaste-storage-'))
  made.push(place)
  return place
}

afterAll(() => Promise.all(made.map((place) => rm(place, { recursive: true, force: true }))))

/** Runs a program of this folder as a separate process. `lines` are its output. */
export function runChild(
  program: string,
  dataDir: string,
): { child: ChildProcess; lines: AsyncIterable<string> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout }) }
}

/** Kills a process with SIGKILL, and waits until it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}
