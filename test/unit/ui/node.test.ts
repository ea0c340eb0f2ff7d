import { describe, expect, test } from 'vitest'
import type { Erasure } from '../../../appliance/api/erasures.ts'
import { erasedWords } from '../../../ui/src/state/erasures.ts'
import { bytes } from '../../../ui/src/state/size.ts'

test('an erasure is described by what it removed', () => {
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
  expect(erasedWords(counts)).toEqual([])
  expect(erasedWords({ ...counts, emails: 1204, bodies: 1 })).toEqual(['1,204 emails', '1 body'])
})

describe('a byte count', () => {
  test.each([
    [1, '1 byte'],
    [1023, '1023 bytes'],
    [1024, '1.0 KiB'],
    [41_943_040, '40.0 MiB'],
    [76_000_000_000, '70.8 GiB'],
  ])('of %d is shown as %s', (count, words) => expect(bytes(count)).toBe(words))
})
