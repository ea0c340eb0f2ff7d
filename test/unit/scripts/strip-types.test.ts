import { execFileSync } from 'node:child_process'
import { rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const project = join(import.meta.dirname, '../../..')
const script = join(project, 'scripts', 'strip-types.ts')
const hook = join(project, 'scripts', 'stripped.mjs')

test('threads load cached stripped code, and load a file from source if it changed since', async () => {
  const name = join('test', 'unit', 'scripts', `probe-${process.pid}.ts`)
  const [probe, kept] = [join(project, name), join(project, '.runtime', 'stripped', name)]
  const program = (says: string): string =>
    [
      "import { isMainThread, Worker } from 'node:worker_threads'",
      'if (isMainThread) new Worker(new URL(import.meta.url))',
      `else process.stdout.write('${says}')`,
    ].join('\n')
  const run = (...args: string[]): string =>
    execFileSync(process.execPath, args, { encoding: 'utf8', env: { NODE_NO_WARNINGS: '1' } })
  try {
    await writeFile(probe, `${program('source')}\nexport type Nothing = never`)
    run(script)
    expect(run('--import', hook, probe)).toBe('source')
    const { mtime } = await stat(probe)
    await writeFile(kept, program('kept'))
    await utimes(kept, mtime, mtime)
    expect(run('--import', hook, probe)).toBe('kept')
    await writeFile(probe, program('changed'))
    expect(run('--import', hook, probe)).toBe('changed')
  } finally {
    await rm(probe, { force: true })
    await rm(kept, { force: true })
  }
})
