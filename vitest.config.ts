import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { PATIENCE } from './test/world/patience.ts'

// Daemons of the tests are the program as it is put together for everybody. Threads and scripts that tests start from the
// sources are given these without their types. The dashboard is built once, before any test looks at it.
const hooks = ['stripped.mjs', 'bundled-threads.mjs'].map((name) =>
  join(import.meta.dirname, 'scripts', name),
)
execFileSync('bash', ['-c', 'source scripts/runtime.sh && prepare program sources dashboard'], {
  cwd: import.meta.dirname,
  stdio: 'inherit',
})
process.env.NODE_OPTIONS = [
  process.env.NODE_OPTIONS,
  ...hooks.map((hook) => `--import=${JSON.stringify(hook)}`),
].join(' ')

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/world/scratch.ts'],
    // Real sockets, files, browsers and child processes: a machine with two cores needs patience, not retries. These only
    // end what hangs; of what a test waits for, none takes so long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: PATIENCE } },
    pool: 'forks',
    // Most tests wait for sockets and timers: one file at a time, the default on two cores, leaves the machine idle.
    maxWorkers: 2,
    passWithNoTests: false,
  },
})
