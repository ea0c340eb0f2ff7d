/** The limit of its own that tests of templates and broadcasts have. */
import type { Clock } from '../clock/clock.ts'
import { createThrottle } from '../clock/throttle.ts'
import { refuse } from '../mail/refusals.ts'

/** Test emails of a team within an hour: enough for careful writers, too few to send to readers with. */
const MOST_TESTS = 60
const HOUR = 3_600_000

export interface TestLimit {
  /** Counts so many test emails of a team. Refuses: `test_limit`, and then counts none of them. */
  count(teamId: string, emails: number): void
}

/** Counts the tests of this node. */
export function createTestLimit(clock: Pick<Clock, 'now'>): TestLimit {
  const throttle = createThrottle(clock, MOST_TESTS, HOUR)
  return {
    count(teamId, emails) {
      for (let counted = 0; counted < emails; counted++) {
        const seconds = throttle.attempt([teamId])
        if (seconds === 0) continue
        for (; counted > 0; counted--) throttle.takeBack(teamId)
        throw refuse('test_limit', { limit: MOST_TESTS, minutes: Math.ceil(seconds / 60), seconds })
      }
    },
  }
}
