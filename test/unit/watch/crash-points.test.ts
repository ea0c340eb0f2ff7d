import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  armCrashPoint,
  CRASH_POINT_VARIABLE,
  CRASH_POINTS,
  crashPoint,
  SCRATCH_MARKER,
} from '../../../appliance/watch/crash-points.ts'
import { PROGRAM } from '../../world/program.ts'

const root = join(import.meta.dirname, '..', '..', '..')

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-points-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

describe('arming a crash point', () => {
  test('without the environment variable, no crash point is armed, and passing one does nothing', () => {
    expect(armCrashPoint({}, folder)).toBeUndefined()
    expect(crashPoint('data')).toBeUndefined()
  })

  test('rejects a crash point for a data directory that crashtest did not create, with its path', () => {
    const refused = armCrashPoint({ [CRASH_POINT_VARIABLE]: 'data:1' }, folder)
    expect(refused).toBe(
      `POSTHASTE_CRASH_POINT is set, but ${folder} was not created by posthaste crashtest. The daemon would kill itself. Unset it.`,
    )
  })

  test.each(['nowhere:1', 'data', 'data:0', 'data:-1', 'toString:1'])(
    'rejects the crash point "%s"',
    (text) => {
      expect(armCrashPoint({ [CRASH_POINT_VARIABLE]: text }, folder)).toContain(`it is "${text}"`)
    },
  )
})

/** Runs a line of TypeScript with access to the crash points. Returns the signal that ended the process. */
async function end(line: string, env: NodeJS.ProcessEnv): Promise<NodeJS.Signals | number | null> {
  const file = join(folder, 'pass.ts')
  const points = join(root, 'appliance', 'watch', 'crash-points.ts')
  await writeFile(file, `import { armCrashPoint, crashPoint } from ${JSON.stringify(points)}\n${line}\n`)
  const child = spawn(process.execPath, [file], { env: { ...process.env, ...env }, stdio: 'ignore' })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return signal ?? code
}

test('a process is killed when it passes its armed crash point the given number of times', async () => {
  await writeFile(join(folder, SCRATCH_MARKER), '')
  const arm = `if (armCrashPoint(process.env, ${JSON.stringify(folder)})) process.exit(3)`
  const twice = `${arm}\ncrashPoint('data'); crashPoint('body'); crashPoint('data')`
  const env = { [CRASH_POINT_VARIABLE]: 'data:2' }
  expect(await end(`${arm}\ncrashPoint('data'); crashPoint('body')`, env)).toBe(0)
  expect(await end(twice, env)).toBe('SIGKILL')
})

test('a daemon with a crash point refuses to start on an ordinary data directory', async () => {
  const config = join(folder, 'posthaste.toml')
  await writeFile(
    config,
    `hostname = "mail.sender.test"\ndata_dir = ${JSON.stringify(join(folder, 'data'))}\n[http]\nlisten = ["127.0.0.1:0"]\n[smtp]\nstarttls = []\nimplicit_tls = []\n`,
  )
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--config', config], {
    env: { ...process.env, [CRASH_POINT_VARIABLE]: 'data:1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = (await once(child, 'exit')) as [number | null]
  expect(code).toBe(1)
  expect(said).toContain('was not created by posthaste crashtest')
})

test('every crash point occurs at one place in the code, and is in docs/reliability.md', async () => {
  const files = globSync('**/*.ts', { cwd: join(root, 'appliance') }).filter(
    (file) => !file.startsWith('crashtest'),
  )
  const code = files.map((file) => readFileSync(join(root, 'appliance', file), 'utf8')).join('\n')
  const doc = await readFile(join(root, 'docs', 'reliability.md'), 'utf8')
  for (const name of Object.keys(CRASH_POINTS)) {
    const commit = /^(accept|claim|settle|receive|bounce|expand|enqueue)-(before|after)-commit$/.exec(name)
    const call = commit ? `crashAtCommit(calls, '${commit[2]}')` : `crashPoint('${name}')`
    expect(code.split(call).length - 1, call).toBe(1)
    expect(doc).toContain(`\`${name}\``)
  }
})
