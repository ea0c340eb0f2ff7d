import { expect, test } from 'vitest'
import type { ReturnedMessage } from '../../../appliance/api/received.ts'
import { describeReport } from '../../../ui/src/state/returned.ts'

type Report = NonNullable<ReturnedMessage['report']>
const entry: Omit<Report['entries'][number], 'effect'> = {
  recipient: 'ada@x.example',
  delivery_id: null,
  action: 'failed',
  status: '5.1.1',
  diagnostic: 'User unknown',
  category: 'recipient',
}

test('describes a returned message with its kind, reporter and effect', () => {
  const report = { kind: 'bounce', format: 'rfc3464', reporting_mta: 'mx.x.example' } as const
  expect(describeReport({ ...report, entries: [{ ...entry, effect: 'suppressed' }] })).toBe(
    'Bounce from mx.x.example. ada@x.example (5.1.1 User unknown): delivery marked as bounced and address suppressed',
  )
  expect(describeReport({ ...report, entries: [{ ...entry, effect: 'stranger' }] })).toBe(
    'Bounce from mx.x.example. ada@x.example (5.1.1 User unknown): no change, because the address isn’t a recipient of this email',
  )
  const silent: Report = { kind: 'auto-reply', format: 'automatic', reporting_mta: null, entries: [] }
  expect(describeReport(silent)).toBe('Automatic reply: no changes')
  expect(describeReport(null)).toBe('Not read: no changes')
})
