import { expect, test } from 'vitest'
import { loadProviders } from '../../../appliance/config/config.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import { describeBacklog } from '../../../appliance/shaping/backlog.ts'
import {
  createLaneState,
  applySignal,
  pauseManually,
  Providers,
  type LaneState,
  type DeliveryFacts,
  type BacklogCount,
} from '../../../appliance/shaping/shaping.ts'

const now = Date.UTC(2026, 10, 21, 13, 1)
const later = now + 60_000
const providers = new Providers(loadProviders({ connections: 10 }))
const source: Source = {
  ip: '192.0.2.7',
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
}
const suspended: Source = { ...source, state: 'suspended', stateReason: 'it is listed.' }
const fresh = createLaneState(providers.get('google').limits)
const slow = { kind: 'slower', since: now, said: null, note: 'it has had enough' } as const
const slowed = applySignal(fresh, { ...slow, recipients: 1, final: false }, providers.get('google'), now)
const count = (more: Partial<BacklogCount>): BacklogCount => ({
  pool: 'default',
  provider: 'google',
  due: 0,
  later: 0,
  held: 0,
  inFlight: 0,
  nextAt: null,
  sample: null,
  count: (more.due ?? 0) + (more.later ?? 0) + (more.held ?? 0) + (more.inFlight ?? 0),
  ...more,
})
const putOff = (phase: 'rcpt' | 'route'): DeliveryFacts => ({
  state: 'waiting',
  dueAt: later,
  pool: 'default',
  provider: 'google',
  attempts: 1,
  cause: { phase, host: null, ip: null, reply: null, note: 'It did not work.' },
})
const scheduled: DeliveryFacts = { ...putOff('rcpt'), attempts: 0, cause: null }

test.each<
  [string, BacklogCount, { state?: LaneState; busy?: boolean; sources?: Source[] }, string, number | null]
>([
  ['everything is held', count({ held: 3 }), { state: pauseManually(fresh, later, now) }, 'held', null],
  ['most is held', count({ held: 3, due: 1 }), {}, 'held', null],
  ['less is held, the rest is due', count({ held: 1, due: 1 }), {}, 'due', null],
  ['due on a paused lane', count({ due: 3 }), { state: pauseManually(fresh, later, now) }, 'paused', later],
  [
    'due on a lane that an operator paused',
    count({ due: 3 }),
    { state: pauseManually(fresh, null, now) },
    'paused',
    null,
  ],
  ['due faster than the limit', count({ due: 3 }), { state: slowed }, 'rate_limited', now + 10_000],
  ['due with a free connection', count({ due: 3 }), { state: fresh }, 'due', null],
  ['due behind other deliveries', count({ due: 3, inFlight: 5 }), { state: fresh, busy: true }, 'busy', null],
  ['due and in flight', count({ due: 3, inFlight: 1 }), { state: fresh }, 'sending', null],
  ['no usable sending IP', count({ due: 3 }), { sources: [suspended] }, 'no_source', null],
  ['deferred', count({ later: 2, nextAt: later, sample: putOff('rcpt') }), {}, 'retrying', later],
  ['deferred by DNS', count({ later: 2, nextAt: later, sample: putOff('route') }), {}, 'no_route', later],
  ['scheduled for later', count({ later: 2, nextAt: later, sample: scheduled }), {}, 'scheduled', later],
  ['deferred, without a sample', count({ later: 2, nextAt: later }), {}, 'retrying', later],
  ['due without a known provider', count({ provider: '?', due: 2 }), {}, 'unresolved', null],
  [
    'in flight without a known provider',
    count({ provider: '?x.example', due: 2, inFlight: 1 }),
    {},
    'sending',
    null,
  ],
  ['several providers', count({ pool: null, provider: null, due: 2 }), {}, 'mixed', null],
  ['nothing', count({}), { state: fresh }, 'idle', null],
  ['nothing on a paused lane', count({}), { state: pauseManually(fresh, later, now) }, 'paused', later],
])(
  'classifies a backlog correctly: %s',
  (_, counted, { state, busy = false, sources = [source] }, word, until) => {
    const lanes = state ? [{ source: '192.0.2.7', provider: 'google', state }] : []
    expect(describeBacklog(counted, busy, { lanes, sources, providers }, now)).toMatchObject({
      state: word,
      until,
    })
  },
)
