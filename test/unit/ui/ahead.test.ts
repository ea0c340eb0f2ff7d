import { beforeEach, expect, test, vi } from 'vitest'
import { dropAhead, readAhead, takeAhead } from '../../../ui/src/state/ahead.ts'

const load = vi.fn(() => Promise.resolve('answer'))
const domains = { key: 'domains', load }

beforeEach(() => {
  vi.useFakeTimers()
  dropAhead()
  load.mockClear()
})

test('what is under way is not asked for again, and taken once', async () => {
  readAhead([domains])
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takeAhead('domains')).resolves.toBe('answer')
  expect(takeAhead('domains')).toBeUndefined()
})

test('what may be old is asked for again, and not taken', () => {
  readAhead([domains])
  vi.advanceTimersByTime(2000)
  expect(takeAhead('domains')).toBeUndefined()
  readAhead([domains])
  vi.advanceTimersByTime(2000)
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(3)
})

test('what was asked for another page is dropped', () => {
  readAhead([domains])
  readAhead([])
  expect(takeAhead('domains')).toBeUndefined()
})

test('a failure that nobody waits for is no error of the page', async () => {
  readAhead([{ key: 'gone', load: () => Promise.reject(new Error('gone')) }])
  await Promise.resolve()
  await expect(takeAhead('gone')).rejects.toThrow('gone')
})
