import { expect, test } from 'vitest'
import { computeWebhookHealth } from '../../../appliance/mail/webhook.ts'

const quiet = { enabled: true, failing: false, succeeded: true, count: 0, taken: 0 }

test.each([
  [{ count: 100, taken: 100 }, 'healthy', 'healthy'],
  [{ count: 1000, taken: 951 }, 'healthy', 'healthy'],
  [{ count: 100, taken: 95 }, 'failing', 'failing 5%'],
  [{ count: 100, taken: 67 }, 'failing', 'failing 33%'],
  [{ count: 100, taken: 50 }, 'broken', 'failing 50%'],
  [{ count: 1000, taken: 1 }, 'broken', 'failing 99%'],
  [{ count: 3, taken: 0 }, 'broken', 'failing 100%'],
  // The newest request failed: either one of many, or all others were more than a day ago.
  [{ count: 100, taken: 99, failing: true }, 'failing', 'failing'],
  [{ failing: true }, 'broken', 'failing'],
  [{}, 'idle', 'no recent requests'],
  [{ succeeded: false }, 'untried', 'no requests yet'],
  [{ enabled: false, count: 3 }, 'disabled', 'disabled'],
])('a webhook endpoint with %o is %s: %s', (facts, state, words) => {
  expect(computeWebhookHealth({ ...quiet, ...facts })).toEqual({ state, words })
})
