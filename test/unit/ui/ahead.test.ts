import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { dropAhead, readAhead, takePreloaded } from '../../../ui/src/state/ahead.ts'

const load = vi.fn(() => Promise.resolve('answer'))
const domains = { key: 'domains', load }

beforeEach(() => {
  vi.useFakeTimers()
  dropAhead()
  load.mockClear()
})
afterEach(() => void vi.useRealTimers())

test('a running prefetch is not repeated, and its result is used once', async () => {
  readAhead([domains])
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takePreloaded('domains')).resolves.toBe('answer')
  expect(takePreloaded('domains')).toBeUndefined()
})

test('a prefetch older than two seconds is repeated and not used', () => {
  readAhead([domains])
  vi.advanceTimersByTime(2000)
  expect(takePreloaded('domains')).toBeUndefined()
  readAhead([domains])
  vi.advanceTimersByTime(2000)
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(3)
})

test('a prefetch for one page survives a prefetch for another', async () => {
  readAhead([domains])
  readAhead([{ key: 'usage', load: () => Promise.resolve('usage') }])
  readAhead([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takePreloaded('usage')).resolves.toBe('usage')
  await expect(takePreloaded('domains')).resolves.toBe('answer')
})

test('a prefetch that failed before it was used is dropped, so that the page loads itself', async () => {
  readAhead([{ key: 'gone', load: () => Promise.reject(new Error('gone')) }])
  await Promise.resolve()
  expect(takePreloaded('gone')).toBeUndefined()
})

test('a prefetch that fails while used fails the page, and a newer one stays', async () => {
  const { promise, reject } = Promise.withResolvers<string>()
  readAhead([{ key: 'domains', load: () => promise }])
  const taken = takePreloaded('domains')
  readAhead([domains])
  reject(new Error('gone'))
  await expect(taken).rejects.toThrow('gone')
  await expect(takePreloaded('domains')).resolves.toBe('answer')
})
