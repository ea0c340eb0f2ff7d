import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { onEmailsChange } from '../../../ui/src/state/live.ts'

/** A fake of the browser's EventSource. */
class Stream extends EventTarget {
  static last: Stream
  constructor() {
    super()
    Stream.last = this
  }
  close(): void {
    // Nothing holds it open.
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', Stream)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a page refreshes once when its event stream opens', () => {
  const act = vi.fn()
  const stop = onEmailsChange(act)
  vi.advanceTimersByTime(5000)
  expect(act).not.toHaveBeenCalled()
  Stream.last.dispatchEvent(new Event('open'))
  vi.advanceTimersByTime(1000)
  expect(act.mock.calls).toEqual([[new Set()]])
  stop()
})
