import { expect, test } from 'vitest'
import { extractEmailId } from '../../../ui/src/state/return-path.ts'

test('a return path links to its email, and other addresses do not', () => {
  expect(extractEmailId('Bounce+0193C3E25A7170008000000000000001@send.a.example')).toBe(
    '0193c3e2-5a71-7000-8000-000000000001',
  )
  expect(extractEmailId('bounce+0193c3e25a7170008000000000000001-80123456789abcdef0123@send.a.example')).toBe(
    '0193c3e2-5a71-7000-8000-000000000001',
  )
  for (const other of ['', 'bounce@send.a.example', 'bounce+12@send.a.example', 'ada@a.example'])
    expect(extractEmailId(other)).toBe(null)
})
