import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { postgresScenarios } from './test/world/engine.ts'
import { LongestFirst } from './test/world/longest-first.ts'
import { PATIENCE } from './test/world/patience.ts'
import { pureFiles, reloadingFiles, sharingFiles } from './test/world/pure.ts'

// Daemons of the tests are the program as it is put together for everybody. Threads and scripts that tests start from the
// sources are given these without their types. The dashboard is built once, before any test looks at it.
const hooks = ['stripped.mjs', 'bundled-threads.mjs'].map((name) =>
  join(import.meta.dirname, 'scripts', name),
)
execFileSync(
  'bash',
  ['-c', 'source scripts/runtime.sh && prepare program sources dashboard && prepare bundled'],
  {
    cwd: import.meta.dirname,
    stdio: 'inherit',
  },
)
process.env.NODE_OPTIONS = [
  process.env.NODE_OPTIONS,
  ...hooks.map((hook) => `--import=${JSON.stringify(hook)}`),
].join(' ')

/** Tests of pure code share processes: starting one takes 0.3 s a file. */
const pure = pureFiles(import.meta.dirname)
/** Tests with servers that can share processes: the first server of a process takes 2 s of processor time, another 0.4. */
const sharing = sharingFiles(import.meta.dirname)
/** Tests that reload modules need each source as a separate module. Tests of password hashing need the real cost. */
const reloading = reloadingFiles(import.meta.dirname)
/** Vitest follows imports of what it loads itself, which is how it finds the tests of what was changed. */
const isFollowed = process.argv.some((argument) => argument.startsWith('--changed'))
/** All others load the sources from one bundle, in 0.5 s of processor time instead of 2. */
const bundled = isFollowed
  ? {}
  : {
      execArgv: [`--import=${join(import.meta.dirname, 'scripts', 'bundled-sources.mjs')}`],
      server: { deps: { external: [/\/appliance\/.*\.ts$/] } },
    }

const common = {
  // Real sockets, files, browsers and child processes: a machine with two cores needs patience, not retries. These only
  // end what hangs; of what a test waits for, none takes so long.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  teardownTimeout: 60_000,
  expect: { poll: { timeout: PATIENCE } },
  pool: 'forks',
  // Most tests wait for sockets, timers, and other processes: one file at a time, the default on two cores, leaves the
  // machine idle, and so do two where both wait.
  maxWorkers: 3,
} as const

/** With ./scripts/test scenarios-postgres, only scenarios, each on PostgreSQL. */
const isOnlyPostgres = process.env.TEST_ENGINE === 'postgres'
/** Scenarios whose daemons use PostgreSQL instead of SQLite. */
const onPostgres = {
  extends: false as const,
  test: {
    ...common,
    ...bundled,
    name: 'postgres',
    include: postgresScenarios(import.meta.dirname, isOnlyPostgres),
    env: { TEST_ENGINE: 'postgres' },
    globalSetup: ['test/world/engine.ts'],
  },
}

export default defineConfig({
  test: {
    globalSetup: ['test/world/scratch.ts'],
    passWithNoTests: false,
    sequence: { sequencer: LongestFirst },
    // A shared server would tell the processes of one project that another loads the sources from the bundle.
    sharedViteServer: false,
    projects: [
      onPostgres,
      {
        extends: false,
        test: {
          ...common,
          ...bundled,
          name: 'isolated',
          include: ['test/**/*.test.ts'],
          exclude: [...pure, ...sharing, ...reloading],
        },
      },
      { extends: false, test: { ...common, name: 'reloading', include: reloading } },
      {
        extends: false,
        test: {
          ...common,
          ...bundled,
          name: 'sharing',
          include: sharing,
          exclude: [...pure, ...reloading],
          isolate: false,
          setupFiles: ['test/world/left-behind.ts'],
        },
      },
      {
        extends: false,
        test: {
          ...common,
          name: 'pure',
          include: pure,
          isolate: false,
          setupFiles: ['test/world/left-behind.ts'],
        },
      },
    ].slice(0, isOnlyPostgres ? 1 : undefined),
  },
})
