import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GENERATED_FILES } from '../scripts/generated.ts'

test.each(Object.entries(GENERATED_FILES))(
  '%s matches the output of ./scripts/generate',
  async (path, render) => {
    expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toBe(await render())
  },
)
