import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROGRAM } from '../../world/program.ts'

/** The result of a run of the program. */
export interface Run {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the command line as a separate process, without this process's POSTHASTE_ variables. */
export function posthaste(
  args: string[],
  { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Run> {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('POSTHASTE_')),
  )
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...clean, NODE_OPTIONS: '', ...env },
  })
  const run: Run = { code: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (run.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text))
  // A command that reads no input may have exited before the input is written.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ...run, code }))
  })
}

/** Creates a data directory and its configuration file. */
export function installation(more = ''): { dataDir: string; config: string } {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-commands-'))
  const dataDir = join(folder, 'data')
  const config = join(folder, 'posthaste.toml')
  writeFileSync(config, `hostname = "mail.sender.test"\ndata_dir = "${dataDir}"\n${more}`)
  return { dataDir, config }
}
