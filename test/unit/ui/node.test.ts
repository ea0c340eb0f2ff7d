import { describe, expect, test } from 'vitest'
import type { Erasure } from '../../../appliance/api/erasures.ts'
import { describeErasure } from '../../../ui/src/state/erasures.ts'
import { formatBytes } from '../../../ui/src/state/size.ts'

test('describes an erasure by what it removed', () => {
  const none = { deliveries: 0, emails: 0, recipients: 0, bodies: 0, bodies_later: 0, events: 0 }
  const others = { attempts: 0, requests: 0, webhook_deliveries: 0, webhook_attempts: 0, receipts: 0 }
  const counts: Erasure['counts'] = {
    ...none,
    ...others,
    received_messages: 0,
    import_rejects: 0,
    sent_events: 0,
    contacts: 0,
    consents: 0,
    suppressions: 0,
  }
  expect(describeErasure(counts)).toEqual([])
  expect(describeErasure({ ...counts, emails: 1204, bodies: 1 })).toEqual(['1,204 emails', '1 body'])
})

describe('a byte count', () => {
  test.each([
    [1, '1 byte'],
    [1023, '1023 bytes'],
    [1024, '1.0 KiB'],
    [41_943_040, '40.0 MiB'],
    [76_000_000_000, '70.8 GiB'],
  ])('formats %d bytes as %s', (count, words) => expect(formatBytes(count)).toBe(words))
})
