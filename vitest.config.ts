import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real sockets, files and child processes: a machine with two cores needs patience, not retries.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    passWithNoTests: false,
  },
})
