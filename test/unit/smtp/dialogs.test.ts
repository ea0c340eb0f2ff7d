import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { play, readDialogs } from '../../dialogs/runner.ts'
import { startDoor, type Door } from './harness.ts'

const folder = join(import.meta.dirname, '../../dialogs')
const files = globSync('*.smtp', { cwd: folder }).toSorted()
const all = files.map((file) => ({ file, dialogs: readDialogs(readFileSync(join(folder, file), 'utf8')) }))

test('the dialog files contain at least 80 conversations', () => {
  expect(all.flatMap(({ dialogs }) => dialogs).length).toBeGreaterThanOrEqual(80)
})

describe.each(all)('$file', ({ dialogs }) => {
  let door: Door
  beforeAll(async () => {
    door = await startDoor({ config: { messageBytes: 20_000 } })
  })
  afterAll(() => door.close())

  test.each(dialogs)('$name', async (dialog) => {
    expect(await play(dialog, door)).toBeNull()
  })
})
