import { describe, expect, test } from 'vitest'
import type { ReportKind } from '../../../appliance/mail/dsn.ts'
import { statusOf } from '../../../appliance/reports/status.ts'
import type { ReportedDelivery } from '../../../appliance/storage/storage.ts'
import { delivery, found, said } from './facts.ts'

describe('the status code', () => {
  const dns = { phase: 'route' } as const
  test.each<[string, ReportKind, Partial<ReportedDelivery>, string]>([
    ['is the server’s', 'failed', { cause: said('550 5.7.26 unauthenticated') }, '5.7.26'],
    ['is general without one', 'failed', { cause: said('550 no') }, '5.0.0'],
    ['is general when the server contradicts itself', 'failed', { cause: said('552 4.2.2 full') }, '5.0.0'],
    ['is our own finding', 'failed', { cause: found('No mail.', { status: '5.1.10' }) }, '5.1.10'],
    ['is general for a fault of ours', 'failed', { state: 'failed', cause: found('No key.') }, '5.0.0'],
    ['of what expired is what kept it', 'failed', { state: 'expired', cause: said('451 4.3.2 no') }, '4.3.2'],
    [
      'of what expired is our finding',
      'failed',
      { state: 'expired', cause: found('SERVFAIL', dns) },
      '4.4.3',
    ],
    ['says that the time was up', 'failed', { state: 'expired', cause: said('451 later') }, '4.4.7'],
    ['says so also after a 5xx', 'failed', { state: 'expired', cause: said('554 5.7.1 no') }, '4.4.7'],
    ['says so of an unknown cause', 'failed', { state: 'expired', cause: null }, '4.4.7'],
    ['of a delay is the server’s', 'delayed', { cause: said('450 4.2.0 greylisted') }, '4.2.0'],
    ['of a delay after a 5xx is general', 'delayed', { cause: said('554 5.7.1 blocked') }, '4.0.0'],
    ['of a delay by DNS', 'delayed', { cause: found('SERVFAIL', { phase: 'route' }) }, '4.4.3'],
    ['of a delay by a dead host', 'delayed', { cause: found('refused', { phase: 'connect' }) }, '4.4.1'],
    ['of a delay by a broken conversation', 'delayed', { cause: found('reset', { phase: 'ehlo' }) }, '4.4.2'],
    ['of a delay by TLS', 'delayed', { cause: found('broken', { phase: 'starttls' }) }, '4.7.5'],
    ['of a delay of unknown cause', 'delayed', { cause: null }, '4.0.0'],
    ['of a success is the server’s', 'relayed', { cause: said('250 2.6.0 queued') }, '2.6.0'],
    ['of a success without one', 'relayed', { cause: said('250 ok') }, '2.0.0'],
  ])('%s', (_, kind, more, status) => {
    const state = kind === 'failed' ? 'bounced' : kind === 'delayed' ? 'waiting' : 'delivered'
    expect(statusOf(delivery({ state, ...more }), kind)).toBe(status)
  })
})
