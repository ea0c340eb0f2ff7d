import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { dropAhead, readAhead, takeAhead } from '../../../ui/src/state/ahead.ts'

const load = vi.fn(() => Promise.resolve('answer'))
const domains = { key: 'domains', load }

beforeEach(() => {
  vi.useFakeTimers()
  dropAhead()
  load.mockClear()
})
afterEach(() => void vi.useRealTimers())

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

test('what was asked for one page is still there when the pointer has been on the link to another', async () => {
  readAhead([domains])
  readAhead([{ key: 'usage', load: () => Promise.resolve('usage') }])
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takeAhead('usage')).resolves.toBe('usage')
  await expect(takeAhead('domains')).resolves.toBe('answer')
})

test('a failure that nobody waits for is no error of the page, which asks itself', async () => {
  readAhead([{ key: 'gone', load: () => Promise.reject(new Error('gone')) }])
  await Promise.resolve()
  expect(takeAhead('gone')).toBeUndefined()
})

test('a failure is heard of by the page that waits for it, and what was asked for since stays', async () => {
  const { promise, reject } = Promise.withResolvers<string>()
  readAhead([{ key: 'domains', load: () => promise }])
  const taken = takeAhead('domains')
  readAhead([domains])
  reject(new Error('gone'))
  await expect(taken).rejects.toThrow('gone')
  await expect(takeAhead('domains')).resolves.toBe('answer')
})
