import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { clearPreloadedData, preload, takePreloaded } from '../../../ui/src/state/preload.ts'

const load = vi.fn(() => Promise.resolve('answer'))
const domains = { key: 'domains', load }

beforeEach(() => {
  vi.useFakeTimers()
  clearPreloadedData()
  load.mockClear()
})
afterEach(() => void vi.useRealTimers())

test('a running prefetch is not repeated, and its result is used once', async () => {
  preload([domains])
  preload([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takePreloaded('domains')).resolves.toBe('answer')
  expect(takePreloaded('domains')).toBeUndefined()
})

test('a prefetch older than two seconds is repeated, and its result is not used', () => {
  preload([domains])
  vi.advanceTimersByTime(2000)
  expect(takePreloaded('domains')).toBeUndefined()
  preload([domains])
  vi.advanceTimersByTime(2000)
  preload([domains])
  expect(load).toHaveBeenCalledTimes(3)
})

test('a prefetch for one page survives a prefetch for another', async () => {
  preload([domains])
  preload([{ key: 'usage', load: () => Promise.resolve('usage') }])
  preload([domains])
  expect(load).toHaveBeenCalledTimes(1)
  await expect(takePreloaded('usage')).resolves.toBe('usage')
  await expect(takePreloaded('domains')).resolves.toBe('answer')
})

test('a prefetch that failed before it was used is dropped, so that the page loads the data itself', async () => {
  preload([{ key: 'gone', load: () => Promise.reject(new Error('gone')) }])
  await Promise.resolve()
  expect(takePreloaded('gone')).toBeUndefined()
})

test('a prefetch that fails while in use fails the page, and a newer prefetch is kept', async () => {
  const { promise, reject } = Promise.withResolvers<string>()
  preload([{ key: 'domains', load: () => promise }])
  const taken = takePreloaded('domains')
  preload([domains])
  reject(new Error('gone'))
  await expect(taken).rejects.toThrow('gone')
  await expect(takePreloaded('domains')).resolves.toBe('answer')
})
