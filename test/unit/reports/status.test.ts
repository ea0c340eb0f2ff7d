import { describe, expect, test } from 'vitest'
import type { ReportKind } from '../../../appliance/mail/dsn.ts'
import { chooseStatus } from '../../../appliance/reports/status.ts'
import type { ReportedDelivery } from '../../../appliance/storage/storage.ts'
import { delivery, found, said } from './facts.ts'

describe('the enhanced status code', () => {
  const dns = { phase: 'route' } as const
  test.each<[string, ReportKind, Partial<ReportedDelivery>, string]>([
    ['is that of the server', 'failed', { cause: said('550 5.7.26 unauthenticated') }, '5.7.26'],
    ['is generic if the server gave none', 'failed', { cause: said('550 no') }, '5.0.0'],
    ['is generic if the server contradicts itself', 'failed', { cause: said('552 4.2.2 full') }, '5.0.0'],
    ['is that of our own finding', 'failed', { cause: found('No mail.', { status: '5.1.10' }) }, '5.1.10'],
    ['is generic for an internal failure', 'failed', { state: 'failed', cause: found('No key.') }, '5.0.0'],
    [
      'of an expired delivery is that of the last deferral',
      'failed',
      { state: 'expired', cause: said('451 4.3.2 no') },
      '4.3.2',
    ],
    [
      'of an expired delivery is that of our finding',
      'failed',
      { state: 'expired', cause: found('SERVFAIL', dns) },
      '4.4.3',
    ],
    [
      'of an expired delivery is a timeout without a server code',
      'failed',
      { state: 'expired', cause: said('451 later') },
      '4.4.7',
    ],
    [
      'of an expired delivery is a timeout after a 5xx',
      'failed',
      { state: 'expired', cause: said('554 5.7.1 no') },
      '4.4.7',
    ],
    [
      'of an expired delivery is a timeout without a cause',
      'failed',
      { state: 'expired', cause: null },
      '4.4.7',
    ],
    ['of a delay is that of the server', 'delayed', { cause: said('450 4.2.0 greylisted') }, '4.2.0'],
    ['of a delay after a 5xx is generic', 'delayed', { cause: said('554 5.7.1 blocked') }, '4.0.0'],
    [
      'of a delay by DNS is a directory failure',
      'delayed',
      { cause: found('SERVFAIL', { phase: 'route' }) },
      '4.4.3',
    ],
    [
      'of a delay by an unreachable host is no answer',
      'delayed',
      { cause: found('refused', { phase: 'connect' }) },
      '4.4.1',
    ],
    [
      'of a delay by a lost connection is a bad connection',
      'delayed',
      { cause: found('reset', { phase: 'ehlo' }) },
      '4.4.2',
    ],
    [
      'of a delay by TLS is a security failure',
      'delayed',
      { cause: found('broken', { phase: 'starttls' }) },
      '4.7.5',
    ],
    ['of a delay without a cause is generic', 'delayed', { cause: null }, '4.0.0'],
    ['of a success is that of the server', 'relayed', { cause: said('250 2.6.0 queued') }, '2.6.0'],
    ['of a success is generic if the server gave none', 'relayed', { cause: said('250 ok') }, '2.0.0'],
  ])('the enhanced status code %s', (_, kind, more, status) => {
    const state = kind === 'failed' ? 'bounced' : kind === 'delayed' ? 'waiting' : 'delivered'
    expect(chooseStatus(delivery({ state, ...more }), kind)).toBe(status)
  })
})
