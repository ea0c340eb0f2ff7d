import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const source = join(import.meta.dirname, '../../../appliance/commands/failure.ts')

/** Runs a script in a process that imports the function. Returns its output. */
function said(script: string): { stdout: string; stderr: string } {
  const code = `import { systemUserName } from ${JSON.stringify(source)}; ${script}; process.stdout.write(systemUserName())`
  const args = ['--input-type=module', '-e', code]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { stdout, stderr }
}

describe('systemUserName', () => {
  test('returns the user name from the system', () => {
    const name = spawnSync('id', ['-un'], { encoding: 'utf8' }).stdout.trim()
    expect(said('')).toEqual({ stdout: name, stderr: '' })
  })

  // Only root can switch to another user.
  test.skipIf(process.getuid?.() !== 0)('returns the UID of a user without a name, as in containers', () => {
    expect(said('process.setuid(54321)')).toEqual({ stdout: 'uid 54321', stderr: '' })
  })
})
