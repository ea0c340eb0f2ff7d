import * as fc from 'fast-check'
import { relative } from 'node:path'
import { expect } from 'vitest'

/** fast-check with one seed for all properties. Import this instead of `fast-check`; ESLint enforces it. */
export * from 'fast-check'

/** `./scripts/test` generates the same values in every run. `./scripts/fuzz` sets a new seed in each round. */
const seed = Number(process.env.FUZZ_SEED ?? 1)
/** How many times the usual number of inputs a property is checked with; see `./scripts/fuzz --times`. */
const times = Number(process.env.FUZZ_TIMES ?? 1)

/** Checks a property. A failure prints the seed and the command to reproduce it. */
export function assert<Ts>(property: fc.IAsyncProperty<Ts>, params?: fc.Parameters<Ts>): Promise<void>
export function assert<Ts>(property: fc.IProperty<Ts>, params?: fc.Parameters<Ts>): void
export function assert<Ts>(
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  params: fc.Parameters<Ts> = {},
): Promise<void> | void {
  const file = relative(process.cwd(), expect.getState().testPath ?? '')
  const fail = (error: unknown): never => {
    const { message, cause } = error as Error
    const usual = times === 1 ? '' : `--times ${times} `
    throw new Error(`${message}\n\nTo repeat it: ./scripts/fuzz ${usual}--seed ${seed} ${file}`, { cause })
  }
  try {
    const done: unknown = fc.assert(property as fc.IAsyncProperty<Ts>, {
      seed,
      ...params,
      numRuns: (params.numRuns ?? 100) * times,
    })
    if (done instanceof Promise) return done.then(() => undefined, fail)
  } catch (error) {
    fail(error)
  }
}
