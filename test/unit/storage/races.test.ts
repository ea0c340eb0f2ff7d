import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listMethods } from '../../../appliance/storage/nouns.ts'

test('every storage method that writes is listed in the decision record on races', () => {
  const page = readFileSync(new URL('../../../docs/decisions/0024-races.md', import.meta.url), 'utf8')
  const named = new Set(Array.from(page.matchAll(/`(\w+)`/g), ([, name]) => name))
  const writes = (['writes', 'prepared', 'innerWrites'] as const).flatMap((kind) => listMethods(kind))
  expect(writes.length).toBeGreaterThan(100)
  expect(writes.flatMap(({ name }) => (named.has(name) ? [] : [name]))).toEqual([])
})
