import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The slowest test files with processes of their own, slowest first. If one of them started last, it would run alone at
 * the end. Those that share processes run last, together: Vitest ends a shared process when another kind of file is next.
 */
const LONGEST = [
  'test/scenarios/simulation.test.ts',
  'test/browser/axe.test.ts',
  'test/browser/dashboard.test.ts',
  'test/regressions/attacks-http.test.ts',
  'test/contract/postgres.test.ts',
  'test/scenarios/broadcast-kill.test.ts',
  'test/scenarios/crashtest.test.ts',
  'test/browser/craft.test.ts',
  'test/browser/preload.test.ts',
  'test/browser/pickers.test.ts',
  'test/browser/reference.test.ts',
  'test/contract/sealed.test.ts',
  'test/scenarios/lanes.test.ts',
  'test/contract/sqlite.test.ts',
  'test/scenarios/faults-reserve.test.ts',
  'test/scenarios/stuck-exchanger.test.ts',
]

/**
 * Runs the slowest files first, then the rest in Vitest's own order. Vitest knows durations only after a first run on
 * the machine.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    const gone = LONGEST.filter((file) => !existsSync(join(root, file)))
    if (gone.length > 0)
      throw new Error(`test/world/longest-first.ts names files that are gone: ${gone.join(', ')}`)
    const places = new Map(LONGEST.map((file, place) => [join(root, file), place]))
    const placeOf = ({ moduleId }: TestSpecification): number => places.get(moduleId) ?? LONGEST.length
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
